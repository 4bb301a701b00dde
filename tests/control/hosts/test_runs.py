"""The SDK gives a host's kernel an update as one buffer: it arrives through an engine segment by segment.

The buffer crosses the host's MACVLAN and is divided before the veth, with UDP checksums from the kernel. The
engine merges updates and adds a status to ACKs; these must not be dropped for their checksum.
"""

from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from olafctl.control.hosts import deployed
from olafctl.control.store import folder_of
from olafswitch.ports.namespace import run_within
from tests.control.hosts.conftest import SOON, bring_up, needs_interfaces
from tests.targets.conftest import need_target

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf import ParameterServer, Worker
from olaf.policies import Plain
from olaf.transport.udp import UdpPort

VALUES = 1400
FOUR_SEGMENTS = [
    (f"name: {name}, workers", f"name: {name}, values: {VALUES}, workers") for name in ("red", "blue")
]
SLOW = ("beats: 24}", "beats: 24, output_rate: 2 Mb/s}")


def port(name: str, host: str, address: str) -> UdpPort:
    return run_within(deployed.namespace_of(folder_of(name), host), lambda: UdpPort((address, 20300)))


@needs_interfaces
def test_updates_merged_on_their_way_reach_kernel_sockets(state: Path) -> None:
    need_target("twin")
    bring_up("runs", SLOW, *FOUR_SEGMENTS)
    ports = [
        port("runs", host, address)
        for host, address in (("ps", "10.0.0.254"), ("red0", "10.0.1.1"), ("red1", "10.0.1.2"))
    ]
    server = ParameterServer(policy=partial(Plain, rate=1.0), port=ports[0])
    with closing(server):
        workers = [Worker("10.0.0.254:20300", VALUES, port=one) for one in ports[1:]]
        for worker in workers:
            worker.begin(np.zeros(VALUES, np.float32))
            assert worker.wait(SOON)
        counted = server.counters()
        for _ in range(400):
            heard = [worker.counters.acks for worker in workers]
            for worker in workers:
                worker.offer(np.ones(VALUES, np.float32), 1.0)
                assert worker.control.probability(worker._port.now()) > 0
            # An update offered before the answer is added to the next one, and counts with it.
            assert all(worker.drain(SOON) for worker in workers)
            if counted.updates > counted.received + 10 and min(counted.received, *heard) > 100:
                break
        assert [worker.segments.count for worker in workers] == [4, 4]
        assert counted.updates > counted.received  # merged
        assert min(worker.counters.acks for worker in workers) > 100
        assert all(worker.status is not None for worker in workers)
        weights = server.weights()
        assert weights is not None
        per_segment = [set(weights[worker.segments.slice(s)].tolist()) for s in range(4)]
        assert all(len(found) == 1 for found in per_segment)
        assert sum(found.pop() for found in per_segment) == counted.updates
        if any(one._segmenting is False for one in ports):
            pytest.skip("the kernel divides no UDP datagrams: the segments were sent one by one")
        for worker in workers:
            worker.close()
