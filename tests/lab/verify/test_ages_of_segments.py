"""A model of several segments is as old as its oldest segment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.verify.aom import age_at, ages
from olaflab.segments import ages_of_oldest_segment, oldest_segment
from olafswitch.errors import BadInput
from tests.verify.by_definition import age_of_oldest_segment

SEGMENTS = 3
RECEPTIONS = st.lists(
    st.tuples(st.integers(0, SEGMENTS - 1), st.integers(-10, 30), st.integers(0, 12)), max_size=14
).map(lambda rows: [(segment, born, born + delay) for segment, born, delay in rows])


def test_the_age_begins_with_all_segments() -> None:
    segment, generation = [0, 1, 0, 1], [0, 0, 10, 10]
    curve = ages_of_oldest_segment(segment, generation, [3, 5, 13, 15], 2, 0, 20)
    assert curve.times.tolist() == [5, 15]
    assert curve.after.tolist() == [5, 5]
    assert curve.valid_peaks.tolist() == [15]
    assert curve.stale == 0


def test_a_lost_segment_keeps_the_cluster_as_old_as_that_segment() -> None:
    whole = ages_of_oldest_segment(
        [0, 1, 0, 1, 0, 1], [0, 0, 10, 10, 20, 20], [2, 2, 12, 12, 22, 22], 2, 2, 30
    )
    without = ages_of_oldest_segment([0, 1, 0, 0, 1], [0, 0, 10, 20, 20], [2, 2, 12, 22, 22], 2, 2, 30)
    assert whole.peaks.tolist() == [12, 12]
    assert without.peaks.tolist() == [22]


def test_a_missing_segment_leaves_the_age_undefined_or_initial() -> None:
    assert ages_of_oldest_segment([0, 0], [1, 2], [2, 3], 2, 0, 9).average is None
    held = ages_of_oldest_segment([0, 0], [1, 2], [2, 3], 2, 0, 9, initial=-1)
    assert held.average == pytest.approx(1 + 9 / 2)


@settings(max_examples=300)
@given(RECEPTIONS, st.none() | st.integers(-12, 0))
def test_the_age_is_always_the_largest_of_the_segments_ages(
    receptions: list[tuple[int, int, int]], initial: int | None
) -> None:
    which, born, seen = np.array(receptions, dtype=np.int64).reshape(-1, 3).T
    times = range(-15, 50)
    found = age_at(*oldest_segment(which, born, seen, SEGMENTS, initial), times, initial)
    expected = [age_of_oldest_segment(receptions, SEGMENTS, time, initial) for time in times]
    assert found.tolist() == [-1 if age is None else age for age in expected]


@settings(max_examples=200)
@given(RECEPTIONS, st.none() | st.integers(0, 9))
def test_a_model_of_one_segment_has_the_age_of_its_updates(
    receptions: list[tuple[int, int, int]], behind: int | None
) -> None:
    initial = None if behind is None else -behind
    _, born, seen = np.array(receptions, dtype=np.int64).reshape(-1, 3).T
    one = ages_of_oldest_segment(np.zeros_like(born), born, seen, 1, 0, 40, initial)
    plain = ages(born, seen, 0, 40, initial)
    assert [part.tolist() for part in one.corners] == [part.tolist() for part in plain.corners]
    assert (one.stale, one.age_at_start) == (plain.stale, plain.age_at_start)


def test_receptions_that_lower_no_segment_are_stale() -> None:
    curve = ages_of_oldest_segment([0, 1, 0, 0], [5, 5, 3, 5], [6, 7, 8, 9], 2, 0, 20, initial=0)
    assert curve.stale == 2


@pytest.mark.parametrize(
    ("segment", "segments", "says"),
    [
        ([2], 2, "segment 2, the model has 0 … 1"),
        ([-1], 2, "segment -1"),
        ([0, 1], 2, "segments for"),
        ([0], 0, "0 segments"),
    ],
)
def test_a_segment_outside_the_model_is_refused(segment: list[int], segments: int, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        oldest_segment(segment, [1], [2], segments)
