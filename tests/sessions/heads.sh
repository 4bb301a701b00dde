# A training with actors, beside a daemon, on a terminal that is wide enough.
export COLUMNS=120
olafctl deploy --hosts lander
olafctl daemon lander > daemon.out 2>&1 &
olaflab train lander --actors 2 --policy plain > train.out 2>&1 &
until olafctl top --once | grep '^lander0-w1'; do sleep 1; done
#: docs/training.md: olafctl top --once
