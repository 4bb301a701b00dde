#: docs/experience.md: batch, draw = -> sample.py
cat > before.py <<'END'
import numpy as np
from olaf.experience import Ring, Uniform, Writer, effective_rows, layout, sample

ring = Ring(layout({"obs": 3}), 4096, 1)
Writer(ring, 0).write({"obs": np.random.default_rng(1).normal(size=(2000, 3))})
beta = 0.4


def errors(batch):
    return batch["obs"][:, 0] ** 2


END
cat before.py sample.py > program.py
python program.py > rows
python -c 'import sys; assert 500 < float(open("rows").read()) <= 1024'
#: docs/experience.md: bound = bind -> bind.py
cat > before.py <<'END'
import queue as queues
import numpy as np
from olaf.experience import Ring, Writer, bind, direct, layout, queue

ring = Ring(layout({"obs": 3, "act": 1, "reward": (), "value": ()}), 1024, 16, objects={"weights": 1})
learnt, waiting, outgoing, now = [], queues.SimpleQueue(), queues.SimpleQueue(), 5.0
learn = learnt.append
for actor in range(16):
    rows = {"obs": np.zeros((512, 3)), "act": np.zeros((512, 1)), "reward": np.zeros(512), "value": np.zeros(512)}
    Writer(ring, actor).write(rows)
END
cat > after.py <<'END'
ring.objects.publish("weights", [0.0], 1)
bound.check(now)
names = {firing.trigger for firing in learnt}
while not waiting.empty():
    names.add(waiting.get().trigger)
while not outgoing.empty():
    names.add(outgoing.get().trigger)
assert names == set(bound.triggers) and len(names) == 8, names
END
cat before.py bind.py after.py > program.py
python program.py
