# A training in virtual time, and another program on the same twin.
#interrupt updates: olaflab train lander --virtual --updates
#: docs/training.md: olafctl deploy lander
#: docs/training.md: with closing -> block.py
cat > before.py <<'END'
from contextlib import closing

import numpy as np

import olaf
from olaf.transport.virtual import VirtualNetwork
from olafctl.control.deploy import use_deployment
from olafctl.control.store import Store, folder_of
from olaflab.training.cosim.medium import EngineMedium

with use_deployment(Store(folder_of("lander"))) as (testbed, running):
END
cat > after.py <<'END'
        assert worker.counters.acks == 1, worker.counters
        worker.close()
        server.close()
END
sed -e 's/^/    /' -e 's/\.\.\.$/worker.begin(np.ones(2205, np.float32)); network.at(5.0, lambda: worker.offer(np.ones(2205, np.float32), 1.0))/' block.py > middle.py
cat before.py middle.py after.py > program.py
python program.py
