# Two ranks that join the page's cluster, which its daemon lets in. They rendezvous at addresses that the
# testbed lists as hosts, so they join from other ones.
cat > bed.yaml <<'END'
name: bed
target: software
engine: {indices: 4, slots: 8, beats: 24, address: 10.0.0.250}
ports: [{number: 1, name: ps}, {numbers: 2-3, name: w}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
hosts: [{name: rank0, port: 2, ip: 10.0.2.1}, {name: rank1, port: 3, ip: 10.0.2.2}, {name: gateway, port: 1, ip: 10.0.0.1}]
END
olafctl deploy --hosts bed.yaml
olafctl exec rank0 -- ip address add 10.0.1.1/32 dev eth0
olafctl exec rank1 -- ip address add 10.0.1.2/32 dev eth0
olafctl daemon bed.yaml > daemon.out 2>&1 &
timeout 60 sh -c 'until grep "ends it" daemon.out; do sleep 0.1; done'
olafctl cluster create lander --open --mode iswitch --values 101
#: sdk/README.md: import torch.distributed -> block.py
cat > before.py <<'END'
import torch

model = torch.nn.Linear(100, 1)
END
cat > after.py <<'END'
torch.manual_seed(dist.get_rank())
model(torch.randn(8, 100)).square().mean().backward()
weights = torch.cat([each.grad.flatten() for each in model.parameters()])
assert weights.abs().sum() > 0
print(weights.tolist())
dist.destroy_process_group()
END
cat before.py block.py after.py > program.py
export OLAF_ADDRESS=olaf://lander@10.0.0.1 MASTER_ADDR=10.0.2.1 MASTER_PORT=29500 WORLD_SIZE=2 GLOO_SOCKET_IFNAME=eth0
RANK=0 OLAF_LOCAL=10.0.1.1:20300 olafctl exec rank0 -- python program.py > 0.out &
first=$!
RANK=1 OLAF_LOCAL=10.0.1.2:20300 olafctl exec rank1 -- python program.py > 1.out
wait $first
cmp 0.out 1.out
kill -INT %1
