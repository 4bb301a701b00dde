"""Models in segments, and what is measured of each worker."""

import random
from dataclasses import replace
from typing import Any

import pytest

from olafctl.wire.modes import Mode
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source
from olaflab.segments import ages_of_oldest_segment
from olafswitch.errors import BadInput

US, SECOND = 1_000, 10**9


def make_crowd(seed: int, segments: dict[int, int], **changes: Any) -> Scenario:
    """Make five clusters of three workers before a slow output."""
    pick = random.Random(seed)
    engine = EngineModel("e", slots=pick.randint(2, 9), rate=64 * 8 * SECOND / (pick.randint(2, 30) * US))
    sources = tuple(
        Source(cluster, worker, "e", pick.randint(50, 200) * US, jitter=9 * US, size=64)
        for cluster in range(5)
        for worker in range(3)
    )
    return Scenario((replace(engine, **changes),), sources, segments=segments, seed=seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_models_age_is_that_of_its_oldest_segment(seed: int) -> None:
    segments = {1: 3, 3: 7}
    first = {0: 0, 1: 1, 2: 4, 3: 5, 4: 12}
    duration = 20_000 * US
    result = run_simulation(make_crowd(seed, segments), duration, record=True)
    assert result.receptions is not None
    for cluster in result.clusters:
        mine = result.receptions.cluster == cluster.cluster
        curve = ages_of_oldest_segment(
            result.receptions.index[mine] - first[cluster.cluster],
            result.receptions.generated[mine],
            result.receptions.time[mine],
            segments.get(cluster.cluster, 1),
            0,
            duration * 1000,
        )
        expected = None if curve.average is None else pytest.approx(curve.average / 1000, rel=1e-12)
        assert cluster.average_age == expected


def test_an_update_of_three_segments_is_three_frames() -> None:
    engine = EngineModel("e", slots=8, rate=64 * 8 * SECOND / (10 * US))
    sources = tuple(Source(0, worker, "e", SECOND, phase=worker * US, size=64) for worker in range(2))
    result = run_simulation(Scenario((engine,), sources, segments={0: 3}), 100 * US, record=True)
    assert result.receptions is not None
    first, *_ = left = result.receptions.index.tolist()
    assert sorted(left[:3]) == [0, 1, 2] and left[3] == first
    assert result.receptions.count.tolist() == [1, 2, 2, 1]  # the first was leaving when the second came


def test_each_update_begins_one_segment_later() -> None:
    engine = EngineModel("e", slots=8, rate=64 * 8 * SECOND / (10 * US))
    sources = (
        Source(0, 0, "e", 100 * US, phase=0, size=64),
        Source(1, 0, "e", 100 * US, phase=50 * US, size=64),
    )
    firsts = set()
    for seed in range(8):
        scenario = Scenario((engine,), sources, segments={0: 3}, seed=seed)
        result = run_simulation(scenario, 390 * US, record=True)
        assert result.receptions is not None
        found = [index for index in result.receptions.index.tolist() if index < 3]
        first = found[0]
        assert found == [(first + turn + place) % 3 for turn in range(4) for place in range(3)]
        firsts.add(first)
    assert firsts == {0, 1, 2}, "the first one is random, as the SDK's numbers are"


@pytest.mark.parametrize(("segments", "says"), [({0: 0}, "0 segments"), ({-1: 2}, "from 0 on")])
def test_wrong_segments_are_refused(segments: dict[int, int], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make_crowd(0, segments)


def of_workers(scenario: Scenario, **arguments: Any) -> Result:
    return run_simulation(scenario, 20_000 * US, record=True, each_worker=True, **arguments)


@pytest.mark.parametrize("mode", [Mode.OLAF, Mode.FIFO])
@pytest.mark.parametrize("seed", range(4))
def test_every_delivered_update_is_one_workers(seed: int, mode: Mode) -> None:
    result = of_workers(make_crowd(seed, {2: 2}, mode=mode))
    for cluster in result.clusters:
        own = [worker.delivered for worker in result.workers if worker.cluster == cluster.cluster]
        assert sum(own) == cluster.delivered


def test_a_merged_frame_makes_every_contributor_fresh() -> None:
    """Departures 10 µs apart: three workers' updates wait together, and leave at 10 µs."""
    engine = EngineModel("e", rate=64 * 8 * SECOND / (10 * US - 1))
    sources = (
        Source(0, 0, "e", SECOND, phase=0, size=64),
        *(Source(1, worker, "e", SECOND, phase=(1 + worker) * US, size=64) for worker in range(3)),
    )
    link = LinkModel(delay=5 * US)
    result = run_simulation(
        Scenario((replace(engine, link=link),), sources), 25 * US, each_worker=True, goal=1, initial=False
    )
    came = 15 * US + 40
    assert [worker.reached for worker in result.workers] == [5 * US + 40, came, came, came]
    ages = [worker.average_age for worker in result.workers]
    for number in range(3):
        generated = (1 + number) * US
        assert ages[1 + number] == pytest.approx((came + 25 * US) / 2 - generated)


def test_alone_in_its_cluster_a_worker_has_its_clusters_age() -> None:
    scenario = make_crowd(3, {})
    alone = replace(scenario, sources=tuple(one for one in scenario.sources if one.worker == 0))
    result = of_workers(alone, initial=True)
    assert [w.average_age for w in result.workers] == [c.average_age for c in result.clusters]


@pytest.mark.parametrize("warm_up", [0, 3_000])
def test_an_initial_model_ages_until_the_first_update(warm_up: int) -> None:
    duration = 20_000 * US
    scenario = make_crowd(6, {1: 2})
    result = run_simulation(scenario, duration, warm_up=warm_up * US, record=True, initial=True)
    assert result.receptions is not None
    for cluster in result.clusters:
        mine = result.receptions.cluster == cluster.cluster
        curve = ages_of_oldest_segment(
            result.receptions.index[mine] - result.receptions.index[mine].min(),
            result.receptions.generated[mine],
            result.receptions.time[mine],
            2 if cluster.cluster == 1 else 1,
            warm_up * US * 1000,
            duration * 1000,
            initial=0,
        )
        assert curve.average is not None
        assert cluster.average_age == pytest.approx(curve.average / 1000, rel=1e-12)


def test_a_starved_cluster_has_the_age_of_the_initial_model() -> None:
    engine = EngineModel("e", slots=1, rate=1.0, mode=Mode.FIFO)
    sources = tuple(Source(c, 0, "e", SECOND, phase=c, size=64) for c in range(3))
    result = run_simulation(Scenario((engine,), sources), 10 * SECOND, initial=True, each_worker=True)
    assert result.clusters[2].average_age == 5 * SECOND
    assert result.fairness is not None
