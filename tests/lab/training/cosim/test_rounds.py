"""An iswitch cluster's rounds through the real engine: every member has the exact sum."""

import numpy as np
import pytest

from olafctl.targets.interface import of_root
from olafctl.wire.modes import Mode

from .conftest import Recorded, TwinLab

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.rounds import Rounds
from olaf.rounds.lane import Reduction
from olaf.transport.virtual import VirtualNetwork

from olaflab.training.cosim.medium import EngineMedium, address_of

MTU = 28 + 22 + 4 * 336
VALUES = 1000
"""Three chunks on two segments."""
REDUCTIONS = 5


def test_every_member_has_the_exact_sum_of_every_round(lab: TwinLab) -> None:
    (cluster,) = (one for one in lab.testbed.clusters if one.mode is Mode.ISWITCH)
    engine = lab.testbed.root.address
    assert engine is not None
    session = Recorded(lab.running.virtual_time())
    network = VirtualNetwork(EngineMedium(session, lab.testbed))
    members = [
        Rounds(
            network.port(address_of(worker)),
            (str(engine), lab.testbed.udp_port),
            members=len(cluster.workers),
            segments=cluster.segments,
            mtu=MTU,
            epoch=cluster.epoch,
        )
        for worker in cluster.workers
    ]
    random = np.random.default_rng(1)
    vectors = random.integers(-1000, 1000, (REDUCTIONS, len(members), VALUES)).astype(np.float32)
    expected = vectors.sum(axis=1)
    under_way: list[Reduction] = []
    for number, member in enumerate(members):
        under_way += [member.start(vectors[turn, number]) for turn in range(REDUCTIONS)]
    done = network.run(10.0, lambda: all(reduction.done for reduction in under_way))
    session.close()
    assert done
    for turn in range(REDUCTIONS):
        for number in range(len(members)):
            assert np.array_equal(vectors[turn, number], expected[turn])
    chunks = -(-VALUES // 336) * REDUCTIONS
    assert [member.counters.results for member in members] == [chunks] * len(members)
    assert [member.counters.partial for member in members] == [0] * len(members)
    counted = of_root(lab.running.queues).read_all()
    assert counted["out_updates"] == chunks
    assert counted["merged"] == chunks * (len(members) - 1)
