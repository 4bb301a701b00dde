"""Random traffic: the Verilated queue, the one in C++ and the golden model agree on every byte and counter.

The long run is ``olaflab bench conform``: 200,000 frames.
"""

from dataclasses import replace

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olaftest.queue import conform
from olaftest.queue.clockless import ClocklessQueue, build_clockless
from olaftest.queue.comparison import Comparison
from olaftest.queue.golden import GoldenQueue, Unexplained
from olaftest.queue.model import Instant, QueueModel
from olaftest.queue.traffic import Frame, Traffic


def test_every_byte_and_every_counter_agree() -> None:
    coverage = conform.run(frames=22_400, per_seed=1_400)
    assert coverage.frames >= 22_400
    rare = {rule for rule in coverage.unmet if rule.startswith("repaired ")}
    assert set(coverage.unmet) <= rare


@pytest.mark.parametrize("of", ["golden", "in C++"])
@pytest.mark.parametrize("what", ["byte", "sidecar", "status", "counter"])
def test_a_difference_is_seen(what: str, of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself: falsify what is expected, or what the queue in C++ says; it must object."""
    geometry = Geometry()
    clockless = ClocklessQueue(build_clockless(geometry))
    with QueueModel(build_queue(geometry)) as model:
        comparison = Comparison(model, geometry, clockless)
        traffic = Traffic(3, geometry, 4, 100)
        for _ in range(50):
            comparison.offer(*traffic.frame())
        other: GoldenQueue | ClocklessQueue = comparison.golden if of == "golden" else clockless
        update, status, counter = other.next_update, other.status, clockless.counter

        def falsified() -> Frame:
            sidecar, frame = update()
            if what == "byte":
                return sidecar, frame[:-1] + bytes([frame[-1] ^ 1])
            return replace(sidecar, size=sidecar.size + 1), frame

        if what == "status":
            monkeypatch.setattr(other, "status", lambda: (status()[0] + 1, *status()[1:]))
        elif what != "counter":
            monkeypatch.setattr(other, "next_update", falsified)
        elif of == "golden":
            comparison.golden.counters["merged"] += 1
        else:
            monkeypatch.setattr(clockless, "counter", lambda name: counter(name) + (name == "merged"))
        with pytest.raises(Unexplained, match=r"in C\+\+" if of == "in C++" else None):
            comparison.settle()
            comparison.check_counters()


def _instant(cycle: int, **what: bool) -> Instant:
    names = ("begun", "left", "decided", "settled", "status", "admitted", "refused")
    return Instant(cycle, *(what.get(name, False) for name in names))


@pytest.mark.parametrize("impossible", ["begun", "left", "decided", "settled"])
def test_the_golden_model_objects_to_what_cannot_be(impossible: str) -> None:
    with pytest.raises(Unexplained):
        GoldenQueue(Geometry()).at(_instant(5, **{impossible: True}))


def test_an_overlong_frame_may_wait_for_a_blocked_output() -> None:
    """In this seed one is still to be offered when the output is blocked; that is no difference."""
    geometry = Geometry()
    with QueueModel(build_queue(geometry)) as model:
        assert conform.run_seed(model, geometry, seed=1016, frames=1000).frames >= 1000
