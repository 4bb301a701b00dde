"""The discrete-event model against schedules worked out by hand."""

from fractions import Fraction

import pytest

from olafctl.verify.aom import ages
from olafctl.verify.schedules import guess_schedules
from olafctl.verify.simulation import (
    Disposition,
    GeneratedUpdate,
    SimulationRun,
    UpdateSchedule,
    simulate_schedule,
)
from olafctl.verify.system import Slope, SlotFreed, System, Transmission, make_periodic
from olafswitch.errors import BadInput


def system(clusters: int = 3, **changes: object) -> System:
    fields: dict[str, object] = {
        "clusters": tuple(make_periodic(name, 100) for name in "abcdef"[:clusters]),
        "service": 10,
        "slots": 8,
        "updates": 4,
    }
    return System(**{**fields, **changes})  # type: ignore[arg-type]  # the fields above, some replaced


def simulate_updates(what: System, *updates: tuple[int, int]) -> SimulationRun:
    """Simulate updates given as (time, cluster), all sent."""
    return simulate_schedule(
        UpdateSchedule(what, tuple(GeneratedUpdate(time, cluster, 1, 0, True) for time, cluster in updates))
    )


def departures(result: SimulationRun) -> list[tuple[int, int, int]]:
    """Return (cluster, A, D) in the order of departure."""
    return [(gone.cluster, gone.arrival, gone.time) for gone in result.departures]


def test_a_newer_update_keeps_the_place_of_the_one_it_joins() -> None:
    result = simulate_updates(system(), (0, 0), (1, 1), (2, 2), (3, 1))
    assert departures(result) == [(0, 0, 0), (1, 3, 10), (2, 2, 20)]
    assert result.dispositions[3] is Disposition.JOINS


def test_a_locked_head_is_not_joined() -> None:
    result = simulate_updates(system(), (0, 0), (3, 0))
    assert departures(result) == [(0, 0, 0), (0, 3, 10)]
    assert result.dispositions == (Disposition.WAITS, Disposition.WAITS)


def test_a_departure_at_the_instant_of_an_arrival_comes_first() -> None:
    assert departures(simulate_updates(system(), (0, 1), (1, 0), (10, 0))) == [
        (1, 0, 0),
        (0, 1, 10),
        (0, 10, 20),
    ]


def test_peak_age_runs_from_the_newest_that_had_left() -> None:
    result = simulate_updates(system(), (0, 0), (1, 1), (2, 1), (30, 1))
    assert [gone.peak for gone in result.departures] == [None, None, 28]


@pytest.mark.parametrize("control", [Transmission.ANY, Transmission.ALWAYS])
def test_peak_ages_are_those_of_the_shared_definition(control: Transmission) -> None:
    crowd = System(
        tuple(make_periodic(name, period) for name, period in (("a", 7), ("b", 9), ("c", 11))),
        service=4,
        slots=2,
        updates=8,
        transmission=control,
        threshold=20,
    )
    for schedule in guess_schedules(crowd):
        result = simulate_schedule(schedule)
        for index, peaks in enumerate(result.outcome.peaks):
            mine = [gone for gone in result.departures if gone.cluster == index]
            curve = ages([gone.arrival for gone in mine], [gone.time for gone in mine], -1, 1000)
            assert curve.valid_peaks.tolist() == list(peaks)


def test_ack_queue_counts_what_waits_behind_at_departure() -> None:
    result = simulate_updates(system(), (0, 0), (1, 1), (2, 2), (3, 2))
    assert [gone.ack_queue for gone in result.departures] == [0, 1, 0]


@pytest.mark.parametrize(("freed", "lost"), [(SlotFreed.DEPARTURE, 1), (SlotFreed.SENT, 2)])
def test_a_full_queue_drops_what_joins_nothing(freed: SlotFreed, lost: int) -> None:
    result = simulate_updates(system(4, slots=2, slot_freed=freed), (0, 0), (1, 1), (2, 2), (3, 3), (4, 1))
    assert sum(result.outcome.lost) == lost
    assert result.dispositions[4] is Disposition.JOINS


def test_sending_probability_is_that_of_the_paper() -> None:
    congested = system(4, slots=2, transmission=Transmission.ANY, threshold=400_000_000)
    assert congested.probability(400_000_000) == Fraction(1, 2)
    assert congested.probability(500_000_000) == Fraction(3, 4)
    assert congested.probability(600_000_000) == 1
    assert congested.certain_after == 600_000_000
    fair = system(4, slots=2, transmission=Transmission.ANY, threshold=400_000_000, slope=Slope.FAIR)
    assert fair.probability(1_400_000_000) == Fraction(1, 2) + Fraction(4, 10)
    assert system(2, slots=2, transmission=Transmission.ANY).probability(0) == 1


def test_a_worker_with_stale_feedback_cannot_withhold() -> None:
    congested = system(2, slots=1, transmission=Transmission.ANY, threshold=100)
    silent = tuple(GeneratedUpdate(time, 0, 1, seq, False) for seq, time in enumerate((0, 100, 149, 150)))
    assert [update.seq for update in simulate_schedule(UpdateSchedule(congested, silent)).impossible] == [3]


def test_the_expected_rate_sends_half_the_updates_at_one_half() -> None:
    congested = system(2, slots=1, transmission=Transmission.EXPECTED, threshold=10_000)
    updates = tuple(GeneratedUpdate(100 * seq, 0, 1, seq, seq % 2 == 1) for seq in range(6))
    assert not simulate_schedule(UpdateSchedule(congested, updates)).impossible


def test_what_cannot_be_verified_is_refused_with_every_problem() -> None:
    with pytest.raises(BadInput) as caught:
        system(service=0, slots=0, threshold=-1)
    assert len(caught.value.problems) == 3
