"""Age-of-Model while it happens agrees with the one definition, olaflab.segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.server.model import AgeOfModel


def test_the_average_of_a_sawtooth() -> None:
    age = AgeOfModel(1)
    assert age.average_age(5) is None
    age.note_reception(100, 0, age=10)
    assert age.average_age(100) is None
    assert age.average_age(200) == 10 + 50
    age.note_reception(200, 0, age=10)
    assert age.average_age(300) == 60
    age.note_reception(300, 0, age=500)
    assert age.stale == 1


def test_a_sender_ahead_of_us_counts_as_fresh() -> None:
    age = AgeOfModel(1)
    age.note_reception(0, 0, age=-50)
    assert age.average_age(100) == 50


RECEPTIONS = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 2), st.integers(0, 1000)), min_size=1, max_size=30
)


@given(RECEPTIONS)
def test_it_is_the_age_that_the_definition_computes(steps: list[tuple[int, int, int]]) -> None:
    definition = pytest.importorskip("olaflab.segments", reason="the definition is in a checkout's lab/")
    age, now, receptions = AgeOfModel(3), 10_000, []
    for gap, segment, old in steps:
        now += gap
        receptions.append((segment, now - old, now))
        age.note_reception(now, segment, old)
    which, born, seen = zip(*receptions)
    curve = definition.ages_of_oldest_segment(which, born, seen, 3, start=0, end=now + 7)
    assert age.average_age(now + 7) == (None if curve.average is None else pytest.approx(curve.average))
    assert age.stale == curve.stale or len({time for _, _, time in receptions}) < len(receptions)
