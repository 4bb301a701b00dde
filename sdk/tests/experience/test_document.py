"""The example of docs/experience.md runs as it is written."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olaf.experience.layout import GOES_ON, TERMINATED
from olaf.experience.ring import Ring
from tests.experience.parts import kill, start

PAGE = Path(__file__).parents[3] / "docs" / "experience.md"


def episode(weights: Any) -> Iterator[tuple[Any, int, float, int, Any]]:
    for step in range(20):
        yield (
            np.full(8, step),
            1,
            float(weights[0]),
            TERMINATED if step == 19 else GOES_ON,
            np.full(8, step + 1),
        )


class Learnt(Exception):
    """As often as asked."""


@pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")
def test_four_actors_and_a_learner() -> None:
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    name = f"test-{uuid.uuid4().hex}"
    processes: list[Any] = []
    batches: list[int] = []

    def start_actors() -> None:
        processes.extend(start(space["actor"], number) for number in range(4))

    def learn(weights: Any, batch: Any) -> Any:
        assert np.array_equal(batch["next"], batch["obs"] + 1)
        batches.append(len(batch))
        if len(batches) == 3:
            raise Learnt
        return weights + 1

    space: dict[str, Any] = {"episode": episode, "learn": learn, "start_actors": start_actors}
    exec(block[1].replace('"lander"', repr(name)), space)
    try:
        with pytest.raises(Learnt):
            space["learner"](np.zeros(5, np.float32))
    finally:
        for process in processes:
            kill(process)
        Ring.open(name).unlink()
    assert all(2048 - 4 * 26 <= steps <= 2048 for steps in batches)  # an episode's end in 21 rows
