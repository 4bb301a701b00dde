# Servers of a testbed with hosts, and without one.
olafctl deploy --hosts lander
ip address add 10.0.0.254/32 dev lo
#interrupt received: olafctl exec ps -- olafctl server lander
#interrupt received: olafctl server
#: docs/training.md: olafctl exec ps
#: docs/training.md: olafctl server lander --policy stellaris
