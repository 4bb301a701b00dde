"""The profile of a round of MADDPG, with rows kept jointly and in the baseline's lists."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from olaflab.papers.marl.examples import load_example
from olaflab.papers.marl.figure8 import ROWS
from olaflab.papers.marl.relayed import fill_ring, keep_rows
from olaflab.papers.marl.stacks import Game, Lists

PARTS = ("sampling", "target Q", "losses and steps")
STACKS = ("lists", "joint rows", "joint rows, one batch")


@dataclass
class Profile:
    """CPU seconds of ``rounds`` rounds, of all trainers."""

    predators: int
    agents: int
    stack: str
    rounds: int
    whole: float = 0.0
    """Measured around the rounds, not added up."""
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))


def profile_rounds(
    predators: tuple[int, ...], rounds: int, rows: int, progress: Callable[[str], None]
) -> Iterator[Profile]:
    """Profile the stacks for each number of predators, with ``rows`` rows of noise.

    Of more than six predators fewer rounds are measured, as each has as much more to do.
    """
    maddpg, particles = load_example("maddpg"), load_example("particles")
    maddpg.torch.set_num_threads(1)
    for count in predators:
        kept, measured = min(rows, ROWS[count]), max(1, rounds * 36 // max(count, 6) ** 2)
        for stack in STACKS:
            progress(f"{count} predators: {stack}")
            game = particles.Tag(count, 1, np.random.default_rng(1))
            settings = maddpg.Settings(rows=2 * kept, one_batch=stack.endswith("one batch"))
            team = maddpg.Team(game, settings, 1)
            if stack == "lists":
                keep_rows(team, Lists(Game(count), kept))
            fill_ring(team, kept)
            yield _measure_profile(team, Profile(count, game.agents, stack, measured))


def _measure_profile(team: Any, profile: Profile) -> Profile:
    for name, part in zip(("_sampled", "_targets", "_improve"), PARTS, strict=True):
        time_method(team, name, profile.parts, part)
    team.learn()  # memory that was not used yet, and the optimisers' moments
    profile.parts.update(dict.fromkeys(PARTS, 0.0))
    start = time.thread_time()
    for _ in range(profile.rounds):
        team.learn()
    profile.whole = time.thread_time() - start
    return profile


def time_method(team: Any, name: str, parts: dict[str, float], part: str) -> None:
    """Have a method of the example's team add its CPU time to one of ``parts``."""
    inner = getattr(team, name)

    def outer(*given: Any) -> Any:
        start = time.thread_time()
        result = inner(*given)
        parts[part] += time.thread_time() - start
        return result

    setattr(team, name, outer)
