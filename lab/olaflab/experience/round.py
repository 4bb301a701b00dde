"""The profile of a round of MADDPG, with rows kept jointly and in the baseline's lists."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from olaflab.experience.examples import example
from olaflab.experience.stacks import ACTIONS, Game, Lists, steps

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

    @property
    def apart(self) -> float:
        """By what share of the whole the parts miss it."""
        return abs(sum(self.parts.values()) / self.whole - 1)


def profiles(
    predators: tuple[int, ...], rounds: int, rows: int, progress: Callable[[str], None]
) -> Iterator[Profile]:
    """For each number of predators, the stacks with ``rows`` rows of noise, which cost what others do."""
    maddpg, particles = example("maddpg"), example("particles")
    maddpg.torch.set_num_threads(1)
    for count in predators:
        for stack in STACKS:
            progress(f"{count} predators: {stack}")
            game = particles.Tag(count, 1, np.random.default_rng(1))
            settings = maddpg.Settings(rows=rows, one_batch=stack.endswith("one batch"))
            team = maddpg.Team(game, settings, 1)
            _fill(team, rows)
            if stack == "lists":
                _draw_lists(team, count, rows, maddpg.torch)
            yield _measured(team, Profile(count, game.agents, stack, rounds))


def _measured(team: Any, profile: Profile) -> Profile:
    for name, part in zip(("_sampled", "_targets", "_improve"), PARTS, strict=True):
        _timed(team, name, profile, part)
    team.learn()  # memory that was not used yet, and the optimisers' moments
    profile.parts = dict.fromkeys(PARTS, 0.0)
    start = time.thread_time()
    for _ in range(profile.rounds):
        team.learn()
    profile.whole = time.thread_time() - start
    return profile


def _timed(team: Any, name: str, profile: Profile, part: str) -> None:
    """Have a method of the example's team add its CPU time to a part."""
    inner = getattr(team, name)

    def outer(*given: Any) -> Any:
        with _counted(profile, part):
            return inner(*given)

    setattr(team, name, outer)


@contextmanager
def _counted(profile: Profile, part: str) -> Iterator[None]:
    start = time.thread_time()
    yield
    profile.parts[part] += time.thread_time() - start


def _fill(team: Any, rows: int) -> None:
    """Noise for every step, in blocks."""
    random = np.random.default_rng(1)
    widths = {key: team.ring.column(key).shape[1] for key in team.ring.layout.keys}
    for start in range(0, rows, 1024):
        count = min(1024, rows - start)
        block = {key: random.random((count, width), np.float32) for key, width in widths.items()}
        team.writers[0].write({**block, "done": np.zeros((count, widths["done"]), np.float32)})


def _draw_lists(team: Any, predators: int, rows: int, torch: Any) -> None:
    """Rows come from the baseline's lists: every agent's, and the trainer's own once more, as it does."""
    game = Game(predators)
    lists = Lists(game, steps(game, 1, rows))

    def tensor(columns: list[Any], key: int) -> Any:
        parts = [torch.from_numpy(np.atleast_2d(each[key].T).T).float() for each in columns]
        return torch.cat(parts, dim=1)

    def sampled(index: int) -> SimpleNamespace:
        draw = team.samplers[index].draw(team.settings.batch)
        chosen = draw.positions
        columns = lists.gather(chosen)
        lists.of(index, chosen.tolist())
        observed, actions, following = (tensor(columns, key) for key in range(3))
        return SimpleNamespace(
            draw=draw, weights=torch.from_numpy(draw.weights()), observed=observed, actions=actions,
            following=following, reward=tensor(columns, 3), done=torch.zeros(len(draw), len(columns)),
            joint=torch.cat([observed, actions], dim=1),
        )  # fmt: skip

    assert team.joint == sum(game.observations) + ACTIONS * game.agents
    vars(team)["_sampled"] = sampled
