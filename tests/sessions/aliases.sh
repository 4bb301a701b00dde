# The agents of one script, each in its cluster, and a server on another machine.
for address in 10.0.1.1 10.0.1.3 10.0.1.5 10.0.2.1; do ip address add $address/32 dev lo; done
ip netns add server
ip link add eth0 type veth peer name eth0 netns server
ip address add 10.0.0.1/24 dev eth0
ip -n server address add 10.0.0.254/24 dev eth0
ip link set eth0 up
ip -n server link set eth0 up
ip -n server route add default via 10.0.0.1
cat > before.py <<'END'
from types import SimpleNamespace

import torch

from olaf.policies import Plain


def make_agent():
    actor, critic = torch.nn.Linear(4, 1), torch.nn.Linear(6, 1)
    return SimpleNamespace(
        actor_optimizer=torch.optim.SGD(actor.parameters(), lr=0.1),
        critic_optimizer=torch.optim.SGD(critic.parameters(), lr=0.1),
    )


team = SimpleNamespace(agents=[make_agent() for _ in range(4)])
END
#: docs/experience.md: import olaf -> block.py
cat > after.py <<'END'
for agent, link in zip(team.agents, links):
    while link.worker.counters.acks < 3:
        agent.critic_optimizer.step()
        agent.actor_optimizer.step()
    link.close()
END
cat > server.py <<'END'
import time

import olaf
from olaf.policies import Plain

members = {address: f"agent{address[5:]}" for address in ("10.0.1.1", "10.0.1.3", "10.0.1.5", "10.0.2.1")}
server = olaf.ParameterServer("10.0.0.254:20300", policy=Plain, members=members)
while True:
    time.sleep(1)
END
ip netns exec server python server.py &
cat before.py block.py after.py > program.py
python program.py
kill %1
