"""Age-of-Model while it happens agrees with the one definition, olafctl.aom."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.aom import AgeOfModel


def test_the_average_of_a_sawtooth() -> None:
    age = AgeOfModel()
    assert age.average(5) is None
    age.received(now=100, age=10)
    assert age.average(100) is None
    assert age.average(200) == 10 + 50
    age.received(now=200, age=10)
    assert age.average(300) == 60
    age.received(now=300, age=500)
    assert age.stale == 1


def test_a_sender_ahead_of_us_counts_as_fresh() -> None:
    age = AgeOfModel()
    age.received(now=0, age=-50)
    assert age.average(100) == 50


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=30))
def test_it_is_the_age_that_the_control_plane_computes(steps: list[tuple[int, int]]) -> None:
    exact = olafctl_aom()
    age, now, receptions = AgeOfModel(), 10_000, []
    for gap, old in steps:
        now += gap
        receptions.append((now - old, now))
        age.received(now, old)
    end = now + 7
    start = receptions[0][1]
    curve = exact.sawtooth(receptions, start - 1, end)
    assert age.average(end) == pytest.approx(float(exact.average(curve)))


def olafctl_aom() -> object:
    """The definition, where this folder lies in a checkout of Olaf and its Python is new enough."""
    checkout = str(Path(__file__).parents[2])
    sys.path.insert(0, checkout)
    try:
        return pytest.importorskip("olafctl.aom")
    finally:
        sys.path.remove(checkout)
