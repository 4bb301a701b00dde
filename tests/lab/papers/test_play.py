"""Games that agents play side by side: rows repeat, and a game's score is counted to its end."""

from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")

import torch

from olaflab.papers.play import make_games, play_steps
from olaflab.papers.screens import STACK, WIDTH, Screens

screened = pytest.mark.skipif(find_spec("ale_py") is None, reason="the extra [atari] is not installed")


def play_rows(environment: str, seed: int) -> list[list[float]]:
    torch.manual_seed(seed)
    found = make_games(environment, 2, seed)
    try:
        rows, ended = play_steps(found, found.agent(), 40)
    finally:
        found.close()
    return [*(column.flatten().tolist() for column in vars(rows).values()), ended]


@pytest.mark.parametrize("environment", ["Pendulum-v1", pytest.param("breakout", marks=screened)])
def test_a_seed_plays_the_same_rows_again(environment: str) -> None:
    assert play_rows(environment, 4) == play_rows(environment, 4) != play_rows(environment, 5)


@screened
def test_a_lost_life_stops_a_return_and_only_the_end_gives_a_score() -> None:
    screens, random = Screens("breakout", 2, 1), np.random.default_rng(1)
    stops, scores, gained = 0, list[float](), 0.0
    while len(scores) < 3:
        rewards, stopped, ended = screens.step(random.integers(screens.actions, size=2))
        assert screens.seen.shape == (2, STACK, WIDTH, WIDTH)
        assert set(np.abs(rewards)) <= {0.0, 1.0}
        stops, gained, scores = stops + int(stopped.sum()), gained + rewards.sum(), scores + ended
    screens.close()
    assert stops >= 5 * len(scores)  # lives of a game
    assert gained >= len(scores)
