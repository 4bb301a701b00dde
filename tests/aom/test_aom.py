"""Δ by hand from OLAF's figure 5, and the exact and the vectorised form against each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.aom import ages, ages_by_cluster, average, jain, jain_exact, peaks, sawtooth
from olafctl.errors import BadInput

RECEPTIONS = st.lists(st.tuples(st.integers(-20, 40), st.integers(0, 15)), max_size=12).map(
    lambda pairs: [(generation, generation + delay) for generation, delay in pairs]
)


def test_a_sawtooth_by_hand() -> None:
    curve = sawtooth([(0, 2), (4, 5), (6, 9)], start=0, end=10, initial=-1)
    assert curve.points == ((0, 1), (2, 3), (2, 2), (5, 5), (5, 1), (9, 5), (9, 3), (10, 4))
    assert peaks(curve) == (3, 5, 5)
    assert average(curve) == (Fraction(4) + Fraction(21, 2) + 12 + Fraction(7, 2)) / 10


def test_an_update_older_than_the_latest_received_lowers_nothing() -> None:
    with_stale = sawtooth([(4, 5), (3, 7), (6, 9)], 0, 10, 0)
    without = sawtooth([(4, 5), (6, 9)], 0, 10, 0)
    assert with_stale.stale == 1
    assert with_stale.teeth == without.teeth


def test_without_an_initial_model_the_age_begins_at_the_first_reception() -> None:
    curve = sawtooth([(2, 4), (5, 6)], 0, 8)
    assert curve.points == ((4, 2), (6, 4), (6, 1), (8, 3))
    assert peaks(curve) == (4,)
    assert average(curve) == Fraction(6 + 4, 4)


def test_nothing_received_and_nothing_held_has_no_average() -> None:
    assert average(sawtooth([], 0, 5)) is None
    assert ages([], [], 0, 5).average is None


def test_receptions_at_one_instant_are_one_jump() -> None:
    curve = sawtooth([(1, 5), (4, 5), (2, 5)], 0, 6, 0)
    assert [tuple(tooth) for tooth in curve.teeth] == [(5, 5, 1)]
    assert curve.stale == 2


def test_receptions_before_the_window_set_the_age_it_begins_with() -> None:
    assert sawtooth([(1, 3), (5, 12)], 10, 15).age == 9
    assert sawtooth([(5, 10)], 10, 15).teeth == ()


@settings(max_examples=300, deadline=None)
@given(RECEPTIONS, st.integers(-5, 20), st.integers(1, 40), st.none() | st.integers(0, 9))
def test_the_vectorised_form_agrees_exactly(
    receptions: list[tuple[int, int]], start: int, length: int, behind: int | None
) -> None:
    initial = None if behind is None else start - behind
    slow = sawtooth(receptions, start, start + length, initial)
    fast = ages([g for g, _ in receptions], [d for _, d in receptions], start, start + length, initial)
    assert fast.average == average(slow)
    assert tuple(fast.valid_peaks.tolist()) == peaks(slow)
    assert fast.times.tolist() == [tooth.time for tooth in slow.teeth]
    assert fast.after.tolist() == [tooth.age for tooth in slow.teeth]
    assert fast.stale == slow.stale


def test_nanoseconds_since_the_epoch_over_a_day_stay_exact() -> None:
    epoch, day, step = 1_800_000_000_000_000_000, 86_400_000_000_000, 97_000_000_007
    generation = np.arange(epoch, epoch + day, step)
    delivery = generation + 5_000_000_001
    fast = ages(generation, delivery, epoch, epoch + day, epoch)
    slow = sawtooth(zip(generation.tolist(), delivery.tolist(), strict=True), epoch, epoch + day, epoch)
    assert fast.average == average(slow)


def test_each_cluster_has_its_own_age() -> None:
    result = ages_by_cluster([7, 2, 7], [0, 1, 4], [1, 3, 6], 0, 10, 0)
    assert list(result) == [2, 7]
    assert result[7].valid_peaks.tolist() == [6]
    assert result[7].stale == 1
    assert result[2].average == average(sawtooth([(1, 3)], 0, 10, 0))


def test_jain_is_one_for_equals_and_one_nth_for_a_monopoly() -> None:
    assert jain_exact([245, 245, 245]) == 1
    assert jain_exact([1, 0, 0, 0]) == Fraction(1, 4)
    assert jain([243, 291]) == pytest.approx(float(jain_exact([243, 291])), rel=1e-12)
    assert jain([0, 0]) == 1.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sawtooth([(5, 3)], 0, 10), "before that"),
        (lambda: ages([5], [3], 0, 10), "before that"),
        (lambda: sawtooth([], 5, 5), "empty"),
        (lambda: ages([], [], 0, 5, 3), "after the start"),
        (lambda: ages([1, 2], [3], 0, 5), "generation times for"),
        (lambda: jain([]), "no values"),
        (lambda: jain_exact([1, -1]), "negative"),
    ],
)
def test_bad_input_is_said_so(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(BadInput, match=says):
        call()
