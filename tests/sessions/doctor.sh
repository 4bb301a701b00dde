# A worker at another UDP port than the testbed's, behind a short MTU; then two rings that do not go well.
cat > bed.yaml <<'END'
name: bed
target: software
engine: {indices: 32, slots: 32}
ports: [{number: 1, name: ps}, {numbers: 2-3, name: w}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 2, name: lander, ports: 2-3, ip: 10.0.1.1, values: 9797}]
END
olafctl deploy --hosts bed.yaml
olafctl exec ps -- olafctl server bed.yaml > server.out &
cat > begin.py <<'END'
from contextlib import closing

import numpy as np

import olaf

with closing(olaf.Worker("10.0.0.254:20300", 9797)) as worker:
    worker.begin(np.ones(9797, np.float32))
    assert worker.wait(600.0)
END
olafctl exec lander-w0 -- python begin.py
olafctl exec lander-w1 -- ip link set eth0 mtu 1400
olaf-doctor() { olafctl exec lander-w1 -- olaf-doctor "$@"; }
#exit 1: olaf-doctor
#: docs/training.md: olaf-doctor 10.0.0.254
kill -INT %1
unset -f olaf-doctor
cat > rings.py <<'END'
import threading
import time

import numpy as np

from olaf.experience import DataKey, Ring, Writer, layout

ring = Ring(layout({"reward": ()}), 8192, 8, name="train-4711-lander0-w0", full="refuse")
still = Ring(layout({"reward": ()}), 8192, 8, name="train-4711-lander0-w1", full="refuse")
learn = DataKey(ring, "learn", 1, 100)
DataKey(still, "learn", 1, 100)
print("playing", flush=True)
writers = [Writer(ring, actor) for actor in range(2)]
try:
    while True:
        for writer in writers:
            writer.write({"reward": np.zeros(100)})
        learn.check()
        while (firing := learn.take()) is not None:
            time.sleep(0.05)
            learn.done(firing)
        time.sleep(0.5)
finally:
    ring.unlink()
    still.unlink()
END
python rings.py > rings.out &
until grep -q playing rings.out; do sleep 0.1; done
#: docs/training.md: olaf-doctor --rings
kill -INT %2
wait %2 || true
