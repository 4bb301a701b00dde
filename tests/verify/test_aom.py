"""Δ by hand from OLAF's figure 5, and the arrays compared with the definition in exact numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.verify.aom import age_at, ages
from olafswitch.errors import BadInput
from tests.verify.by_definition import average, peaks, sawtooth

RECEPTIONS = st.lists(st.tuples(st.integers(-20, 40), st.integers(0, 15)), max_size=12).map(
    lambda pairs: [(generation, generation + delay) for generation, delay in pairs]
)


def corners(
    *receptions: tuple[int, int], window: tuple[int, int], initial: int | None = None
) -> list[tuple[int, int]]:
    born, seen = np.array(receptions).reshape(-1, 2).T
    times, values = ages(born, seen, *window, initial).corners
    return list(zip(times.tolist(), values.tolist(), strict=True))


def test_a_sawtooth_by_hand() -> None:
    expected = [(0, 1), (2, 3), (2, 2), (5, 5), (5, 1), (9, 5), (9, 3), (10, 4)]
    assert corners((0, 2), (4, 5), (6, 9), window=(0, 10), initial=-1) == expected
    curve = ages([0, 4, 6], [2, 5, 9], 0, 10, -1)
    assert curve.valid_peaks.tolist() == [3, 5, 5]
    assert curve.mean_peak == pytest.approx(13 / 3)
    assert curve.average == pytest.approx((4 + 21 / 2 + 12 + 7 / 2) / 10)


def test_an_update_older_than_the_latest_received_lowers_nothing() -> None:
    with_stale, without = ages([4, 3, 6], [5, 7, 9], 0, 10, 0), ages([4, 6], [5, 9], 0, 10, 0)
    assert with_stale.stale == 1
    assert [part.tolist() for part in with_stale.corners] == [part.tolist() for part in without.corners]


def test_without_an_initial_model_the_age_begins_at_a_reception() -> None:
    assert corners((2, 4), (5, 6), window=(0, 8)) == [(4, 2), (6, 4), (6, 1), (8, 3)]
    curve = ages([2, 5], [4, 6], 0, 8)
    assert curve.valid_peaks.tolist() == [4]
    assert curve.average == pytest.approx((6 + 4) / 4)


def test_nothing_received_and_nothing_held_has_no_average() -> None:
    assert ages([], [], 0, 5).average is None
    assert ages([], [], 0, 5).mean_peak is None
    assert corners(window=(0, 5)) == []


def test_receptions_at_one_instant_are_one_jump() -> None:
    curve = ages([1, 4, 2], [5, 5, 5], 0, 6, 0)
    assert (curve.times.tolist(), curve.peaks.tolist(), curve.after.tolist()) == ([5], [5], [1])
    assert curve.stale == 2


def test_receptions_before_the_window_set_the_age_it_begins_with() -> None:
    assert ages([1, 5], [3, 12], 10, 15).age_at_start == 9
    assert len(ages([5], [10], 10, 15).times) == 0


@settings(max_examples=300)
@given(RECEPTIONS, st.integers(-5, 20), st.integers(1, 40), st.none() | st.integers(0, 9))
def test_the_arrays_agree_with_the_definition(
    receptions: list[tuple[int, int]], start: int, length: int, behind: int | None
) -> None:
    initial = None if behind is None else start - behind
    slow = sawtooth(receptions, start, start + length, initial)
    fast = ages([g for g, _ in receptions], [d for _, d in receptions], start, start + length, initial)
    expected = average(slow)
    assert fast.average == (None if expected is None else pytest.approx(float(expected)))
    assert tuple(fast.valid_peaks.tolist()) == peaks(slow)
    assert fast.times.tolist() == [tooth.time for tooth in slow.teeth]
    assert fast.after.tolist() == [tooth.age for tooth in slow.teeth]
    assert fast.stale == slow.stale
    assert tuple(zip(*(part.tolist() for part in fast.corners), strict=True)) == slow.points


@settings(max_examples=100)
@given(RECEPTIONS, st.none() | st.integers(-25, 0))
def test_the_age_at_a_time_is_that_of_the_freshest_received(
    receptions: list[tuple[int, int]], initial: int | None
) -> None:
    times = list(range(60))
    held = [] if initial is None else [initial]
    freshest = [max([*held, *(g for g, d in receptions if d <= time)], default=time + 1) for time in times]
    found = age_at([g for g, _ in receptions], [d for _, d in receptions], times, initial)
    assert found.tolist() == [time - newest for time, newest in zip(times, freshest, strict=True)]


def test_nanoseconds_over_a_day_keep_the_precision_of_a_float() -> None:
    epoch, day, step = 1_800_000_000_000_000_000, 86_400_000_000_000, 97_000_000_007
    generation = np.arange(epoch, epoch + day, step)
    delivery = generation + 5_000_000_001
    exact = average(
        sawtooth(zip(generation.tolist(), delivery.tolist(), strict=True), epoch, epoch + day, epoch)
    )
    assert exact is not None
    assert ages(generation, delivery, epoch, epoch + day, epoch).average == pytest.approx(
        float(exact), rel=1e-13
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ages([5], [3], 0, 10), "before that"),
        (lambda: age_at([5], [3], [0]), "before that"),
        (lambda: ages([], [], 5, 5), "empty"),
        (lambda: ages([], [], 0, 5, 3), "after the start"),
        (lambda: ages([1, 2], [3], 0, 5), "generation times for"),
    ],
)
def test_bad_input_is_reported(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(BadInput, match=says):
        call()
