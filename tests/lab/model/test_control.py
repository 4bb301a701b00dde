"""Transmission control: the SDK's decisions; ACKs reach a cluster's workers with the tightest status."""

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olaf.transport.wire import OlafStatus
from olaf.worker.transmission import TransmissionControl

from olaflab.model import library
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source, TransmissionModel

MS, SECOND = 10**6, 10**9
PS_PER_SECOND = 10**12


@contextmanager
def native_control(v: float, tolerance: float) -> Iterator[tuple[ctypes.CDLL, int]]:
    lib = library.load_library()
    control = lib.olaf_control_new(v, tolerance)
    try:
        yield lib, control
    finally:
        lib.olaf_control_free(control)


statuses = st.lists(
    st.builds(OlafStatus, st.integers(0, 64), st.integers(0, 64), st.integers(1, 64), st.integers(0, 3)),
    min_size=1,
    max_size=3,
)
acks_and_updates = st.lists(st.tuples(st.integers(0, 2 * PS_PER_SECOND), st.none() | statuses), max_size=40)


@settings(max_examples=300)
@given(st.floats(0, 20), st.floats(0.001, 3), acks_and_updates, st.integers(0, 2**32))
def test_it_decides_as_the_sdk_does_on_the_same_random_numbers(
    v: float, tolerance: float, steps: list[tuple[int, list[OlafStatus] | None]], seed: int
) -> None:
    """An entry is a wait in ps, and then an ACK with statuses or an update to decide about."""
    theirs, numbers, now = TransmissionControl(v, tolerance, random.Random(seed)), random.Random(seed), 0
    with native_control(v, tolerance) as (lib, ours):
        for wait, ack in steps:
            now += wait
            if ack is not None:
                share = min(
                    (min(s.slots / s.active_clusters, 1.0) for s in ack if s.active_clusters), default=1.0
                )
                theirs.acknowledged(now / PS_PER_SECOND, *ack)
                lib.olaf_control_acknowledged(ours, now, share)
                continue
            probability = lib.olaf_control_probability(ours, now)
            assert probability == pytest.approx(theirs.probability(now / PS_PER_SECOND), abs=1e-9)
            draw = numbers.random()
            if abs(draw - probability) < 1e-9:  # the two clocks round differently
                theirs.draw(now / PS_PER_SECOND)
            else:
                assert (draw < probability) == theirs.draw(now / PS_PER_SECOND)


def make_tree(edge_slots: int, core_slots: int, control: TransmissionModel | None) -> Scenario:
    """Make ten clusters of two workers, five behind each edge; the core's output takes half the load."""
    rate = 10 * 2 * 1000 * 8 * 10 / 2
    engines = (
        EngineModel("a", edge_slots, link=LinkModel("core", delay=MS), active_window=SECOND),
        EngineModel("b", edge_slots, link=LinkModel("core", delay=MS), active_window=SECOND),
        EngineModel("core", core_slots, rate, LinkModel(delay=MS), active_window=SECOND),
    )
    sources = tuple(
        Source(cluster, worker, "ab"[cluster % 2], 100 * MS, delay=MS, jitter=90 * MS, control=control)
        for cluster in range(10)
        for worker in range(2)
    )
    return Scenario(engines, sources, seed=5)


FAIR = TransmissionModel(v=0.4, tolerance=0.4)


def held_share(result: Result) -> float:
    """Return the share of updates that transmission control held back."""
    kept = sum(cluster.held for cluster in result.clusters)
    return kept / (kept + result.generated)


@pytest.mark.parametrize(
    ("edge_slots", "core_slots", "expected"), [(5, 16, 0.0), (5, 6, 0.4), (3, 6, 0.4), (2, 9, 0.6)]
)
def test_workers_follow_the_tightest_engine_on_the_way(
    edge_slots: int, core_slots: int, expected: float
) -> None:
    """Five clusters are active at an edge and ten at the core: P_s = min(slots / active, 1)."""
    result = run_simulation(make_tree(edge_slots, core_slots, FAIR), 100 * SECOND)
    assert held_share(result) == pytest.approx(expected, abs=0.02)


def test_an_ack_reaches_every_worker_of_its_cluster_and_no_other() -> None:
    scenario = make_tree(5, 8, FAIR)
    only = [replace(source, period=SECOND * 1000, phase=0, jitter=0) for source in scenario.sources[:2]]
    others = [replace(source, period=SECOND * 1000, phase=500 * SECOND) for source in scenario.sources[2:]]
    result = run_simulation(replace(scenario, sources=(*only, *others)), 100 * SECOND)
    assert [cluster.frames for cluster in result.clusters] == [2]
    assert result.clusters[0].acknowledged == 2 * 2


def test_a_worker_without_feedback_sends_everything() -> None:
    """No ACK comes back within the run, or only long ago."""
    far = make_tree(5, 2, FAIR)
    slow = tuple(replace(engine, link=replace(engine.link, delay=200 * SECOND)) for engine in far.engines)
    assert held_share(run_simulation(replace(far, engines=slow), 100 * SECOND)) == 0
    patient, urgent = (
        held_share(run_simulation(make_tree(5, 2, TransmissionModel(v, tolerance=0.05)), 100 * SECOND))
        for v in (0.0, 1 / 0.05)
    )
    assert 0 < urgent < patient


def test_acks_wait_for_a_slow_link_down() -> None:
    """An ACK of 100 bytes and 8 of status takes 864 ms at 1 kb/s: the second worker's update is held."""
    engine = EngineModel("e", slots=1, link=LinkModel(rate=1000.0), active_window=1000 * SECOND)
    control = TransmissionModel(v=0.0, tolerance=1.0)
    sources = tuple(Source(c, 0, "e", 1000 * SECOND, phase=c, size=64, control=control) for c in range(4))
    scenario = Scenario((engine,), sources, ack_bytes=100)
    up = 512 * MS
    assert run_simulation(scenario, up + 863 * MS).clusters[0].acknowledged == 0
    assert run_simulation(scenario, up + 865 * MS).clusters[0].acknowledged == 1


@pytest.mark.parametrize(
    "control",
    [TransmissionModel(-1.0, 0.4), TransmissionModel(0.4, 0.0), TransmissionModel(float("nan"), 0.4)],
)
def test_wrong_parameters_are_refused(control: TransmissionModel) -> None:
    from olafswitch.errors import BadInput

    with pytest.raises(BadInput, match="transmission control"):
        make_tree(5, 8, control)
