"""Returns over several steps never cross an episode, nor the write head."""

from __future__ import annotations

import numpy as np
import pytest

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
