"""Index ranges: no two clusters have the same index, and every index can be used again after it came back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafctl.membership.indices import IndexRanges
from olafswitch.errors import BadInput


@given(st.integers(1, 64), st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=60))
def test_ranges_never_overlap_and_all_come_back(size: int, steps: list[tuple[bool, int]]) -> None:
    ranges = IndexRanges(size)
    held: list[tuple[int, int]] = []
    for takes, number in steps:
        if not takes and held:
            ranges.give_back(*held.pop(number % len(held)))
        else:
            free = set(range(size)) - {
                index for first, count in held for index in range(first, first + count)
            }
            try:
                first = ranges.take(number)
            except BadInput:
                assert not any(set(range(start, start + number)) <= free for start in range(size))
                continue
            assert set(range(first, first + number)) <= free
            held.append((first, number))
        assert ranges.free == size - sum(count for _, count in held)
    for taken in held:
        ranges.give_back(*taken)
    assert ranges.take(size) == 0


def test_a_refusal_distinguishes_full_and_scattered_queues() -> None:
    ranges = IndexRanges(8)
    for first in (0, 2, 4, 6):
        ranges.claim(first, 1)
    with pytest.raises(BadInput, match=r"2 consecutive indices.*longest.*\(4 indices in all\) has 1"):
        ranges.take(2)
    with pytest.raises(BadInput, match="5 consecutive indices, but 4 of the engine's 8 are free"):
        ranges.take(5)


def test_the_smallest_run_that_fits_is_taken() -> None:
    ranges = IndexRanges(10)
    ranges.claim(2, 1)
    ranges.claim(6, 1)
    assert (ranges.take(2), ranges.take(3), ranges.take(3)) == (0, 3, 7)


def test_a_range_that_is_taken_cannot_be_claimed() -> None:
    ranges = IndexRanges(4)
    ranges.claim(1, 2)
    with pytest.raises(ValueError, match=r"2 … 3 are not free"):
        ranges.claim(2, 2)
