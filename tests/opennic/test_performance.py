"""The box keeps up with its clock, whatever the path and the size of frames."""

import pytest

from olafctl.wire.layouts import FrameKind
from olaflab.opennic.performance import measure_latency, measure_replication, measure_throughput


@pytest.mark.parametrize("size", [1500, 9036])
@pytest.mark.parametrize("kind", [FrameKind.BYPASS, FrameKind.UPDATE])
def test_one_direction(size: int, kind: FrameKind) -> None:
    assert measure_throughput(size, kind).beats_per_cycle >= 0.98


@pytest.mark.parametrize("members, size", [(3, 1500), (64, 1500), (256, 1500), (256, 100)])
def test_copies_leave_at_the_outputs_limit(members: int, size: int) -> None:
    assert measure_replication(size, members).beats_per_cycle >= 0.98


def test_latency_is_a_frame_and_a_few_cycles() -> None:
    """A long update leaves as it comes: only its first 24 beats are stored."""
    found = measure_latency(9036)
    assert found.total == sum(found.stages.values())
    assert found.stages["measure"] <= 24 + 6
    assert found.stages["replicator"] <= 18
    assert found.gone <= found.total + 142
    assert found.last_ns <= 960
    assert found.stages["VNP4₁, OlafQueue, VNP4₂"] <= 50
