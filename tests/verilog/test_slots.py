"""The places of entries: a lookup finds every entry at any time, also while others are moved."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafswitch.p4.hardware.slots import Hashed, Ordered, Row

WAYS, ROW_BITS, KEY_BITS = 5, 8, 32


def _random_masks(r: random.Random) -> list[int]:
    return [r.getrandbits(KEY_BITS) for _ in range(WAYS * ROW_BITS)]


@pytest.mark.parametrize("keys", ["random", "consecutive"])
def test_ways_hold_what_a_table_of_their_size_needs(keys: str) -> None:
    r = random.Random(keys)
    table, held = Hashed(WAYS, ROW_BITS, _random_masks(r)), dict[int, Row]()
    numbers = r.sample(range(1 << KEY_BITS), 1024) if keys == "random" else range(1 << 24, (1 << 24) + 1024)
    rows = [(number, 0, 0) for number in numbers]
    for row in rows:
        plan = table.plan(row)
        assert plan is not None
        for moved, place in plan:
            assert place in table.places(moved)
            held[place] = moved
            table.put(moved, place)
            # an entry is in its new place before its old one is used for another
            present = set(held.values())
            assert present >= {other for other, _ in plan} - {row}
    assert set(held.values()) == set(rows)


def test_full_ways_refuse_and_a_removed_key_makes_room() -> None:
    table = Hashed(1, 1, [1])
    rows = [(key, 0, 0) for key in range(3)]
    for row in rows[:2]:
        [(put, place)] = table.plan(row) or []
        table.put(put, place)
    assert table.plan(rows[2]) is None
    assert table.remove(rows[0]) == 0
    assert table.plan(rows[2]) == [(rows[2], 0)]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=40))
def test_the_first_place_that_matches_has_the_lowest_rank(steps: list[tuple[bool, int]]) -> None:
    size = 8
    table = Ordered(size)
    places: list[Row | None] = [None] * size
    live: list[Row] = []
    for number, (adds, rank) in enumerate(steps):
        if adds:
            entry = (number, 0, rank)
            plan = table.plan(entry)
            assert (plan is None) == (len(live) == size)
            for moved, place in plan or ():
                places[place] = moved
                table.put(moved, place)
                ranks = [each[2] for each in places if each is not None]
                assert ranks == sorted(ranks)
                assert set(live) <= set(places)
            live += [entry] if plan else []
        elif live:
            gone = live.pop(rank % len(live))
            places[table.remove(gone)] = None
