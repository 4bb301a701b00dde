# Three members on a testbed, all from the page's block, then the page's benchmarks.
cat > bed.yaml <<'END'
name: bed
target: software
engine: {indices: 1, slots: 8, beats: 24, address: 10.0.0.250, mode: iswitch-async}
ports: [{numbers: 1-3, name: w}, {number: 4, name: ps}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 3, name: members, ports: 1-3, ip: 10.0.1.1, values: 101}]
END
olafctl deploy --hosts bed.yaml
cat > before.py <<'END'
import hashlib

import torch

import olaf

model = torch.nn.Linear(100, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)


def loss(model):
    return model(torch.randn(8, 100)).square().mean()


END
cat > after.py <<'END'
weights = torch.cat([each.detach().flatten() for each in model.parameters()])
print(hashlib.sha256(weights.numpy().tobytes()).hexdigest())
END
train() {
    sed "s/\"10.0.1.2\", \"10.0.1.3\"/$3/" $1.py > block$2.py
    cat before.py block$2.py after.py > member$2.py
    olafctl exec members-w$2 -- python member$2.py > $2.out
}
train_all() {
    train $1 0 '"10.0.1.2", "10.0.1.3"' & train $1 1 '"10.0.1.1", "10.0.1.3"' & train $1 2 '"10.0.1.1", "10.0.1.2"' &
    wait
}
#: docs/replica.md: link = olaf.attach -> page.py
train_all page
test -s 0.out
cmp 0.out 1.out
cmp 0.out 2.out
rm *.out
#: sdk/README.md: link = olaf.attach -> readme.py
cat >> readme.py <<'END'
while link.version < 50:
    loss(model).backward()
    optimizer.step()
    optimizer.zero_grad()
link.close()
END
train_all readme
test -s 0.out
test -s 1.out
test -s 2.out
olafctl destroy
# Who runs this is root.
sudo() { "$@"; }
#: docs/replica.md: sudo olaflab
