"""Synchronous clusters: rounds over one engine and several, complete in spite of losses.

That one engine's rounds are the Verilated queue's, tests/lab/model/test_agreement.py shows, and those of
several the twin's, test_several_engines.py.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from olafctl.targets import testbeds
from olafctl.wire.modes import Mode
from olaflab.model.from_testbed import scenario_of
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source
from olafswitch.errors import BadInput

US, MS = 1_000, 1_000_000
COMPLETE = 64
"""ns from a contribution of one beat to the end of the result that it completes: 16 cycles."""


def make_members(workers: int, retry: int = 100 * US) -> tuple[Source, ...]:
    first = Source(0, 0, "e", period=10 * US, phase=0, size=64, retry=retry)
    return tuple(replace(first, worker=worker) for worker in range(workers))


def collect_results(result: Result) -> list[tuple[int, int, int]]:
    """Collect (generated, received, count) of each result; ns."""
    found = result.receptions
    assert found is not None
    rows = zip(found.generated // 1000, found.time // 1000, found.count, strict=True)
    return [(int(generated), int(time), int(count)) for generated, time, count in rows]


def test_the_next_round_begins_a_period_after_the_result() -> None:
    scenario = Scenario((EngineModel("e", mode=Mode.ISWITCH),), make_members(1))
    turn = 10 * US + COMPLETE
    expected = [(number * turn, number * turn + COMPLETE, 1) for number in range(10)]
    assert collect_results(run_simulation(scenario, 10 * turn - 1, record=True)) == expected


def test_a_result_is_of_every_member_and_waits_for_the_slowest() -> None:
    workers = (*make_members(3), *(replace(one, worker=3, phase=4 * US) for one in make_members(1)))
    result = run_simulation(
        Scenario((EngineModel("e", mode=Mode.ISWITCH),), workers), 5 * US, record=True, each_worker=True
    )
    assert collect_results(result) == [(4 * US, 4 * US + COMPLETE, 4)]
    assert [worker.delivered for worker in result.workers] == [1, 1, 1, 1]


def test_numbered_sums_wait_for_no_member() -> None:
    """One of three sends twice as often: every sum is of the next three updates, whoever sent them."""
    fast, *slow = make_members(3)
    sources = (fast, *(replace(one, period=20 * US, phase=1000 + one.worker * US) for one in slow))
    scenario = Scenario((EngineModel("e", mode=Mode.ISWITCH_ASYNC),), sources)
    result = run_simulation(scenario, 200 * US, record=True, each_worker=True)
    assert [count for _, _, count in collect_results(result)] == [3] * 13
    assert [worker.delivered for worker in result.workers] == [19, 10, 10]


def test_results_in_time_leave_no_retries_behind() -> None:
    """200 rounds, each of which a worker would have sent again after 500 µs."""
    scenario = Scenario((EngineModel("e", mode=Mode.ISWITCH),), make_members(2, retry=500 * US))
    patient = Scenario(scenario.engines, make_members(2, retry=MS * 1000))
    found, other = (
        run_simulation(one, 200 * (10 * US + COMPLETE), record=True) for one in (scenario, patient)
    )
    assert collect_results(found) == collect_results(other)
    assert found.events - other.events <= 2 * 4


def test_racks_and_the_root_sum_and_the_result_returns() -> None:
    """128 bytes take 1024 ns at 1 Gb/s: up, and down to the member that begins its next round then."""
    racks = tuple(
        EngineModel(name, link=LinkModel("root", 1e9, 5 * US), mode=Mode.ISWITCH) for name in ("a", "b")
    )
    root = EngineModel("root", mode=Mode.ISWITCH)
    sources = tuple(
        replace(one, engine=rack, worker=3 * place + one.worker, size=128)
        for place, rack in enumerate(("a", "b"))
        for one in make_members(3)
    )
    result = run_simulation(Scenario((root, *racks), sources), MS, record=True)
    found = collect_results(result)
    assert {count for _, _, count in found} == {6}
    assert result.engines["a"]["merged"] == 2 * (rounds := result.engines["a"]["sent"])
    assert rounds - 1 <= len(found) <= rounds
    turns = [later - earlier for (_, earlier, _), (_, later, _) in pairwise(found)]
    assert set(turns) <= set(range(10 * US + 12 * US, 10 * US + 13 * US))


@pytest.mark.parametrize(
    "engine",
    [
        EngineModel("e", slots=4, mode=Mode.ISWITCH, accumulate_quota=1),
        EngineModel("e", slots=1, mode=Mode.ISWITCH),
    ],
)
def test_what_is_refused_for_lack_of_slots_comes_again(engine: EngineModel) -> None:
    sources = tuple(replace(one, phase=one.worker * US) for one in make_members(3))
    result = run_simulation(Scenario((engine,), sources, segments={0: 3}), 50 * MS, record=True)
    refused = result.engines["e"]["dropped_quota"] + result.engines["e"]["dropped_full"]
    assert refused > 0
    assert {count for _, _, count in collect_results(result)} == {3}
    assert result.clusters[0].frames > 100
    assert result.generated == sum((c.delivered + c.lost) for c in result.clusters) + result.under_way


def test_a_round_whose_sum_was_lost_between_engines_begins_again() -> None:
    """The rack's link has room for one frame of three: its sums of the others are lost and made again."""
    rack = EngineModel("rack", link=LinkModel("root", 1e6, 0, capacity=1), mode=Mode.ISWITCH)
    root = EngineModel("root", mode=Mode.ISWITCH)
    above, below = make_members(2, retry=20 * MS)
    sources = (replace(above, engine="root"), replace(below, engine="rack"))
    result = run_simulation(Scenario((root, rack), sources, segments={0: 3}), 1000 * MS, record=True)
    assert result.engines["rack"]["link_dropped"] > 0
    assert {count for _, _, count in collect_results(result)} == {2}
    assert result.clusters[0].frames > 10


@pytest.mark.parametrize("changes", [{"modes": {0: Mode.OLAF}}, {"mode": Mode.OLAF}])
def test_rounds_that_an_engine_does_not_sum_are_refused(changes: dict[str, Any]) -> None:
    """No result would ever come."""
    rack, root = (
        EngineModel("rack", link=LinkModel("root"), mode=Mode.ISWITCH),
        EngineModel("root", mode=Mode.ISWITCH),
    )
    sources = tuple(replace(one, engine="rack") for one in make_members(2))
    Scenario((rack, root, EngineModel("other")), sources)
    with pytest.raises(
        BadInput, match=r"cluster 0: sends in rounds that some engines .* iswitch-async, or none"
    ):
        Scenario((rack, replace(root, **changes)), sources)


def test_a_worker_beyond_the_members_of_a_round_is_refused() -> None:
    Scenario((EngineModel("e", mode=Mode.ISWITCH),), make_members(32))
    Scenario((EngineModel("e"),), make_members(33))
    with pytest.raises(BadInput, match=r"cluster 0: .* worker 32 .*0 … 31"):
        Scenario((EngineModel("e", mode=Mode.ISWITCH),), make_members(33))


def test_a_synchronous_cluster_is_simulated_with_its_segments() -> None:
    bed = testbeds.load_testbed(testbeds.locate_testbed("two-racks"))
    result = run_simulation(
        scenario_of(bed, 100 * US, {}), 20 * MS, warm_up=MS, record=True, each_worker=True
    )
    hopper = result.clusters[0]
    assert result.receptions is not None
    counts = result.receptions.count[result.receptions.cluster == 0]
    assert hopper.frames == len(counts) and set(counts.tolist()) == {6}
    assert hopper.frames > 300 and hopper.frames % 3 == 0
    assert hopper.average_age is not None and 50 * US < hopper.average_age < 200 * US
    assert result.clusters[1].delivered > 0
