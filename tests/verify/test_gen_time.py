"""Generation times of 48 bits wrap every 78 hours and are compared as serial numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from olaflab.gen_time import GEN_TIME_BITS, at_least_as_new, gen_time_of, nearest_time

WRAP = 1 << GEN_TIME_BITS
TIMES = st.integers(0, 2**62)
APART = st.integers(-(WRAP // 2) + 1, WRAP // 2 - 1)


@given(TIMES, APART)
def test_times_less_than_half_a_wrap_apart_compare_as_they_are(time: int, apart: int) -> None:
    assert at_least_as_new(gen_time_of(time + apart), gen_time_of(time)) == (apart >= 0)


@given(TIMES, APART)
def test_the_time_is_recovered_from_one_near_it(time: int, apart: int) -> None:
    assert nearest_time(gen_time_of(time), time + apart) == time


def test_after_the_wrap_is_newer_than_before_it() -> None:
    assert at_least_as_new(5, WRAP - 5)
    assert not at_least_as_new(WRAP - 5, 5)
    assert at_least_as_new(7, 7)


@given(st.lists(st.tuples(TIMES, APART), max_size=6))
def test_arrays_give_what_numbers_give(pairs: list[tuple[int, int]]) -> None:
    times = np.array([time for time, _ in pairs], dtype=np.int64)
    near = np.array([time + apart for time, apart in pairs], dtype=np.int64)
    assert nearest_time(gen_time_of(times), near).tolist() == times.tolist()
    newer = at_least_as_new(gen_time_of(near), gen_time_of(times))
    assert np.asarray(newer).tolist() == [apart >= 0 for _, apart in pairs]
