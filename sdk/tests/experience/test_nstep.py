"""Returns over several steps never cross an episode, nor the write head, and are never of other rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.experience.layout import CUT, GOES_ON, TERMINATED, layout
from olaf.experience.nstep import returns
from olaf.experience.ring import Ring
from olaf.experience.samplers import Uniform
from olaf.experience.writer import Writer


@pytest.mark.parametrize("following", [None, "obs"])
def test_each_return_is_its_own_sum(following: str | None) -> None:
    ring = Ring(layout({"obs": 1, "reward": ()}, following=following), 60)
    writer, random = Writer(ring, 0), np.random.default_rng(3)
    steps: dict[int, tuple[float, int]] = {}
    for _ in range(14):
        length = int(random.integers(1, 12))
        for step in range(length):
            end = GOES_ON if step < length - 1 else int(random.choice([TERMINATED, CUT]))
            reward = float(np.float32(random.normal()))
            steps[writer.position()] = reward, end
            writer.write({"obs": [[step]], "reward": [reward]}, end=end)
        if following:
            writer.finish(obs=[-1.0])
    assert ring.count()[0] > 60  # it has wrapped
    draw = Uniform(ring, random).draw(500)
    found = returns(ring, draw, 4, 0.9)
    newest = max(steps) if following is None else ring.count()[0] - 2
    for row, first in enumerate(draw.positions.tolist()):
        total, factor, position = 0.0, 1.0, first
        while True:
            reward, end = steps[position]
            total += factor * reward
            factor *= 0.9
            if end != GOES_ON or position - first == 3 or position == newest:
                break
            position += 1
        assert found.rewards[row] == pytest.approx(total)
        assert found.last[row] == position
        assert found.discount[row] == pytest.approx(0.0 if end == TERMINATED else factor)


@given(st.lists(st.integers(1, 7), max_size=9), st.booleans(), st.integers(0, 99))
def test_a_return_is_of_the_drawn_rows_or_marked(written: list[int], following: bool, seed: int) -> None:
    """An actor writes between the draw and the return; the reward of step t is t."""
    ring = Ring(layout({"obs": (), "reward": ((), "f8")}, following="obs" if following else None), 16)
    writer = Writer(ring, 0)

    def play(steps: int) -> None:
        marks = np.arange(writer.position(), writer.position() + steps, dtype=float)
        assert writer.write({"obs": marks, "reward": marks})

    play(16)
    draw = Uniform(ring, np.random.default_rng(seed)).draw(64)
    for steps in written:
        play(steps)
    found = returns(ring, draw, 3, 1.0)
    there = draw.positions >= writer.position() - 16
    assert found.intact.tolist() == there.tolist()
    length = found.last - draw.positions + 1
    expected = length * draw.positions + length * (length - 1) / 2
    assert np.array_equal(found.rewards, np.where(there, expected, np.nan), equal_nan=True)
    assert np.array_equal(np.isnan(found.discount), ~there)
    assert np.array_equal(ring.gather(draw.actors, found.last).intact[~there], there[~there])
