"""Scenarios in virtual time: by hand, against the verifier's own model, and what holds of every run."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.verify import aom
from olafctl.verify.simulation import GeneratedUpdate, UpdateSchedule, simulate_schedule
from olafctl.verify.system import ClusterFlow, System
from olafctl.wire.modes import Mode
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source, Trace
from olafswitch.errors import BadInput

US, SECOND = 1_000, 10**9
IDLE = 40
"""ns that a frame of one beat takes through an idle engine."""
NEAR = 200
"""ns within which the cycles decide."""


def make_source(cluster: int, worker: int = 0, engine: str = "e", **changes: Any) -> Source:
    return replace(Source(cluster, worker, engine, period=100 * US, phase=0, size=64), **changes)


def rate_for(service: int) -> float:
    """Return the bit/s at which a frame of 64 bytes takes ``service`` ns, rounded to the nearest cycle."""
    return 64 * 8 * SECOND / (service - 1)


def make_receptions(result: Result) -> list[tuple[int, int, int, int]]:
    """Return (cluster, generated, received, count), in ns."""
    assert result.receptions is not None
    columns = (
        result.receptions.cluster,
        result.receptions.generated // 1000,
        result.receptions.time // 1000,
        result.receptions.count,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_an_update_takes_its_beats_the_link_and_the_delays() -> None:
    link = LinkModel(rate=rate_for(31), delay=500)
    scenario = Scenario((EngineModel("e", link=link),), (make_source(0, delay=100),))
    result = run_simulation(scenario, 150 * US, record=True)
    assert make_receptions(result)[0] == (0, 0, 100 + IDLE + 30 + 500, 1)
    (cluster,) = result.clusters
    assert (cluster.generated, cluster.frames, cluster.lost) == (2, 2, 0)
    assert cluster.mean_peak == 100 * US + 630 + IDLE


def test_a_jumbo_frame_takes_142_beats_and_nine_cycles() -> None:
    """`olaflab bench queue` counts 600 ns from the first beat in to the last one out, which takes 4."""
    scenario = Scenario((EngineModel("e"),), (make_source(0, size=9036, period=SECOND),))
    assert make_receptions(run_simulation(scenario, SECOND // 2, record=True)) == [(0, 0, 604, 1)]


def test_one_engine_serves_clusters_of_both_modes() -> None:
    engine = EngineModel("e", slots=8, rate=rate_for(10 * US), modes={1: Mode.FIFO})
    scenario = Scenario((engine,), (make_source(0, period=2 * US, phase=1), make_source(1, period=2 * US)))
    result = run_simulation(scenario, 9 * US)
    assert result.engines["e"]["replaced_worker"] == 4
    assert result.engines["e"]["appended"] == 6


def test_a_lost_aggregate_loses_all_its_worker_updates() -> None:
    engines = (
        EngineModel("a", rate=rate_for(10 * US), link=LinkModel("c")),
        EngineModel("c", slots=1, rate=rate_for(SECOND)),
    )
    sources = (
        make_source(1, engine="c", phase=0, period=SECOND),
        make_source(2, engine="c", phase=5 * US, period=SECOND),
        make_source(3, engine="a", phase=0, period=SECOND),
        make_source(0, 0, "a", phase=1 * US, period=SECOND),
        make_source(0, 1, "a", phase=2 * US, period=SECOND),
    )
    result = run_simulation(Scenario(engines, sources), 100 * US)
    assert result.clusters[0].lost == 2


def test_a_link_drops_what_its_queue_has_no_room_for() -> None:
    link = LinkModel(rate=rate_for(100 * US), capacity=2)
    scenario = Scenario((EngineModel("e", link=link),), tuple(make_source(c, phase=c * US) for c in range(4)))
    result = run_simulation(scenario, 90 * US)
    assert result.engines["e"]["link_dropped"] == 2
    assert [cluster.lost for cluster in result.clusters] == [0, 0, 1, 1]


def random_scenario(pick: random.Random) -> Scenario:
    """Make two engines before a third, at loads from idle to far too much."""
    mode = pick.choice((Mode.OLAF, Mode.FIFO))
    engines = tuple(
        EngineModel(
            name,
            slots=pick.randint(1, 4),
            rate=rate_for(pick.randint(1, 60) * US),
            link=LinkModel(
                to, pick.choice((None, rate_for(7 * US))), pick.randint(0, 9) * US, pick.choice((None, 1, 3))
            ),
            mode=mode,
            modes={0: pick.choice((Mode.OLAF, Mode.FIFO))},
        )
        for name, to in (("a", "c"), ("b", "c"), ("c", None))
    )
    sources = tuple(
        Source(
            cluster=cluster,
            worker=worker,
            engine=pick.choice("abc"),
            period=pick.randint(20, 200) * US,
            jitter=pick.choice((0, 5 * US, 400 * US)),
            size=64,
        )
        for cluster in range(pick.randint(1, 6))
        for worker in range(pick.randint(1, 3))
    )
    return Scenario(engines, sources, seed=pick.getrandbits(32))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 3000))
def test_the_ages_equal_the_shared_definition(seed: int, warm_up: int) -> None:
    """No update is unaccounted for, or the run would have failed."""
    duration = 20_000 * US
    result = run_simulation(random_scenario(random.Random(seed)), duration, warm_up=warm_up * US, record=True)
    assert result.receptions is not None
    for cluster in result.clusters:
        mine = result.receptions.cluster == cluster.cluster
        curve = aom.ages(
            result.receptions.generated[mine],
            result.receptions.time[mine],
            warm_up * US * 1000,
            duration * 1000,
        )
        for found, expected in (
            (cluster.average_age, curve.average),
            (cluster.mean_peak, curve.mean_peak),
            (cluster.highest_peak, curve.valid_peaks.max() if len(curve.valid_peaks) else None),
        ):
            assert found == (None if expected is None else pytest.approx(expected / 1000, rel=1e-12))


def periodic_workers(pick: random.Random) -> tuple[System, tuple[Source, ...], UpdateSchedule]:
    """Make a system as the verifier has it, the same workers here, and what they generate."""
    clusters, sources = [], []
    for index in range(pick.randint(2, 6)):
        workers, period = pick.randint(1, 3), pick.randint(50, 200) * US
        phases = sorted(pick.sample(range(period), workers))
        clusters.append(ClusterFlow(f"c{index}", period, (0, period - 1), workers))
        sources += [
            make_source(index, worker, period=period, phase=phase) for worker, phase in enumerate(phases)
        ]
    service, slots = pick.randint(10_000, 60_000), pick.randint(1, 4)
    system = System(tuple(clusters), service=service, slots=slots, updates=30)
    updates = [
        GeneratedUpdate((one.phase or 0) + seq * one.period, one.cluster, one.worker + 1, seq, True)
        for one in sources
        for seq in range(system.rounds[one.cluster])
    ]
    end = min(system.rounds[one.cluster] * one.period for one in sources)
    kept = sorted((update for update in updates if update.time <= end), key=lambda update: update.time)
    return system, tuple(sources), UpdateSchedule(system, tuple(kept))


@pytest.mark.parametrize(("second", "dropped"), [(996, 1), (1000, 0)])
def test_a_link_has_room_once_the_frame_before_was_sent(second: int, dropped: int) -> None:
    """The first frame leaves the engine at 40 ns and the link at 1040."""
    engine = EngineModel("e", link=LinkModel(rate=512e6, capacity=1))
    result = run_simulation(Scenario((engine,), (make_source(0), make_source(1, phase=second))), 90 * US)
    assert result.engines["e"]["link_dropped"] == dropped


@pytest.mark.parametrize("seed", range(20))
def test_the_verifiers_simulation_of_the_same_workers_agrees(seed: int) -> None:
    """Same departures and losses, where no two events lie so near that the cycles decide."""
    pick = random.Random(seed)
    while True:
        system, sources, schedule = periodic_workers(pick)
        seen = simulate_schedule(schedule)
        arrivals = np.array([update.time for update in schedule.updates])
        apart = np.abs(arrivals[:, None] - np.array([departure.time for departure in seen.departures]))
        if (np.diff(arrivals) > NEAR).all() and not ((apart > 0) & (apart < NEAR)).any():
            break
    end = schedule.updates[-1].time
    engine = EngineModel("e", slots=system.slots, rate=rate_for(system.service + 1))
    ours = make_receptions(run_simulation(Scenario((engine,), sources), end + NEAR, record=True))
    gone = [(one.cluster, one.arrival, one.time) for one in seen.departures if one.time <= end]
    assert [row[:2] for row in ours[: len(gone)]] == [row[:2] for row in gone]
    assert all(0 <= row[2] - time <= NEAR for row, (_, _, time) in zip(ours, gone, strict=False))
    lost = {
        cluster.cluster: cluster.lost
        for cluster in run_simulation(Scenario((engine,), sources), end).clusters
    }
    assert [lost[index] for index in range(len(system.clusters))] == list(seen.outcome.lost)


def test_jain_is_undefined_while_a_cluster_has_no_age() -> None:
    scenario = Scenario((EngineModel("e"),), (make_source(0), make_source(1, phase=99 * US)))
    assert run_simulation(scenario, 50 * US).fairness == 1.0
    late = run_simulation(scenario, 99 * US)
    assert late.clusters[1].average_age is None
    assert late.fairness is None and late.average_age is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"engines": ()}, "no engine"),
        ({"sources": ()}, "no worker"),
        ({"engines": (EngineModel("e"), EngineModel("e"))}, "engine e: two engines have this name"),
        ({"engines": (EngineModel("e", link=LinkModel("x")),)}, "leads to 'x'"),
        ({"engines": (EngineModel("e", link=LinkModel("e")),)}, "circle: e → e"),
        (
            {"engines": (EngineModel("e", link=LinkModel("f")), EngineModel("f", link=LinkModel("e")))},
            "circle: e → f → e",
        ),
        ({"engines": (EngineModel("e", rate=0),)}, "has a rate in bit/s of 0"),
        ({"engines": (EngineModel("e", link=LinkModel(rate=-1)),)}, "link: has a rate in bit/s of -1"),
        ({"engines": (EngineModel("e", link=LinkModel(capacity=0)),)}, "link: has a room for frames of 0"),
        ({"engines": (EngineModel("e", slots=0),)}, "has a number of slots of 0"),
        ({"sources": (make_source(0, engine="x"),)}, "engine 'x', which does not exist"),
        ({"sources": (make_source(0), make_source(0))}, "sends from two places"),
        ({"sources": (make_source(0, period=0),)}, "period of 0"),
        ({"sources": (make_source(0, jitter=-1),)}, "jitter of -1"),
        ({"sources": (make_source(0, size=63),)}, "frame in bytes of 63"),
        ({"sources": (make_source(0, retry=0),)}, "time to send again of 0"),
        ({"engines": (EngineModel("e", accumulate_quota=0),)}, "room for incomplete sums of 0"),
    ],
)
def test_a_wrong_topology_is_one_clear_line(changes: dict[str, Any], says: str) -> None:
    fields: dict[str, Any] = {"engines": (EngineModel("e"),), "sources": (make_source(0),)}
    with pytest.raises(BadInput) as caught:
        Scenario(**{**fields, **changes})
    assert says in str(caught.value)
    assert len(caught.value.problems) == 1


def make_trace(**changes: Any) -> Trace:
    """Make a trace of two updates of cluster 0, of whose model there are two segments."""
    two = np.array([0, 1])
    return replace(Trace("e", two * US, two * 0, two, 64, segment=two), **changes)


def test_a_trace_says_of_which_segment_an_update_is() -> None:
    result = run_simulation(
        Scenario((EngineModel("e"),), trace=make_trace(), segments={0: 2}), 10 * US, record=True
    )
    assert result.receptions is not None
    assert result.receptions.index.tolist() == [0, 1]
    assert result.clusters[0].average_age == pytest.approx((US + IDLE + 10 * US) / 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"time": np.zeros(0, np.int64)}, "times of shape (0,)"),
        ({"worker": np.array([1])}, "workers of shape (1,)"),
        ({"engine": np.array(["e"])}, "engines of shape (1,)"),
        ({"round": np.array([1, 2, 3])}, "rounds of shape (3,)"),
        ({"segment": np.array([0])}, "segments of shape (1,)"),
        ({"segment": np.array([0, 2])}, "segments 0 … 2, its model has 2"),
        ({"segment": np.array([-1, 0])}, "segments -1 … 0"),
        ({"segment": None}, "does not give an update's segment, of 2"),
        ({"engine": "x"}, "engine 'x', which does not exist"),
        ({"time": np.array([1, 0])}, "descend"),
        ({"size": 63}, "frames of 63 bytes"),
    ],
)
def test_a_wrong_trace_is_one_clear_line(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        Scenario((EngineModel("e"),), trace=make_trace(**changes), segments={0: 2})
    assert says in str(caught.value)
    assert len(caught.value.problems) == 1


def test_a_worker_of_a_trace_may_have_any_number() -> None:
    far = make_trace(worker=np.array([4_000_000_000, 1]))
    result = run_simulation(
        Scenario((EngineModel("e"),), trace=far, segments={0: 2}), 10 * US, each_worker=True
    )
    assert [(worker.worker, worker.delivered) for worker in result.workers] == [(1, 1), (4_000_000_000, 1)]


def test_a_run_of_no_time_is_refused() -> None:
    scenario = Scenario((EngineModel("e"),), (make_source(0),))
    with pytest.raises(BadInput, match="warm-up of 5"):
        run_simulation(scenario, 5, warm_up=5)


def test_every_phase_left_open_is_drawn_within_the_period() -> None:
    sources = tuple(make_source(c, phase=None, period=10 * US) for c in range(200))
    result = run_simulation(Scenario((EngineModel("e", slots=200),), sources), 10 * US, record=True)
    generated = np.array([row[1] for row in make_receptions(result)])
    assert 190 < len(generated) <= 200
    assert len(np.unique(generated // US)) == 10
