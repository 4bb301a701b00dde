# Training scripts and a server as hosts of a testbed: a script that attaches, and a worker without torch.
cat > bed.yaml <<'END'
name: bed
target: software
engine: {indices: 1, slots: 8, beats: 142}
ports: [{number: 1, name: ps}, {numbers: 2-3, name: w}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 2, name: lander, ports: 2-3, ip: 10.0.1.1, values: 2205}]
END
olafctl deploy --hosts bed.yaml
#: sdk/README.md: import time -> server.py
olafctl exec ps -- python server.py &
#: README.md: import olaf -> attach.py
cat > before.py <<'END'
import torch

model = torch.nn.Linear(2204, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
mean = 1.0
END
cat > after.py <<'END'
while link.worker.counters.acks < 3:
    optimizer.zero_grad()
    model(torch.randn(8, 2204)).square().mean().backward()
    optimizer.step()
link.close()
END
cat before.py attach.py after.py > program.py
olafctl exec lander-w0 -- python program.py
#: sdk/README.md: import numpy as np -> worker.py
cat > before.py <<'END'
import time


def training(weights):
    while worker.counters.acks < 3:
        time.sleep(0.01)
        yield weights * 0.5 + 1, 2.0


END
cat before.py worker.py > program.py
olafctl exec lander-w1 -- python program.py
kill -INT %1
wait %1 || true
python -c 'import numpy; print(*numpy.load("lander.npz"))'
