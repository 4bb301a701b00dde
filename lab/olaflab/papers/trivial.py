"""Best trivial policies: what a learner has to beat, of actions at random and of one action throughout.

Of all single actions, in continuous games of nothing and some that are drawn, the one with the highest mean
return is chosen on other seeds than are reported.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from olaflab.papers.figure import Effort, Figure, FigureCost, make_measured, with_interval
from olaflab.papers.summary import Estimate, estimate_mean

EPISODES, _CHOSEN_ON, _DRAWN = 100, range(1000, 1010), 20
"""Episodes that are reported, seeds of those on which an action is chosen, and actions that are drawn."""
_LONGEST = 500
"""Steps after which an episode that does not end counts with its score until then."""
Action = Callable[[np.random.Generator], Any]


class TrivialGame(Protocol):
    """A game, of which an episode follows from a seed and a policy."""

    actions: Mapping[str, Any]
    """Actions to take throughout, by name."""

    def random_action(self, random: np.random.Generator) -> Any:
        """Draw an action."""

    def play_episode(self, act: Action, seed: int) -> float:
        """Return the return of an episode."""


@dataclass(frozen=True)
class TrivialLine:
    """What trivial policies have in a game."""

    game: str
    random: Estimate
    always: str
    """The best single action."""
    constant: Estimate
    """Mean return of it."""


def make_figure(*games: str) -> Figure:
    """Return the figure of what trivial policies have in these of ``GAMES``."""
    title = f"Best trivial policies, {EPISODES} episodes"
    return make_measured("trivial", title, partial(measure_games, games), {
        "game": "{game}", "at random": with_interval("random"), "always": "{always}",
        "its return": with_interval("constant"),
    }, cost=FigureCost.TRAINING)  # fmt: skip


def measure_games(games: Sequence[str], effort: Effort) -> Iterator[TrivialLine]:
    """Measure each game. Raises ImportError where its package is missing, BadInput outside a checkout."""
    for title in games:
        effort.progress(title)
        game, seeds = GAMES[title](), range(effort.seed_count(EPISODES))
        always = {name: _repeat_action(each) for name, each in game.actions.items()}
        best = max(always, key=lambda name: float(play_seeds(game, always[name], _CHOSEN_ON).mean()))
        random, constant = (play_seeds(game, act, seeds) for act in (game.random_action, always[best]))
        yield TrivialLine(title, estimate_mean(random), best, estimate_mean(constant))


def _repeat_action(action: Any) -> Action:
    return lambda random: action


def play_seeds(game: TrivialGame, act: Action, seeds: range) -> NDArray[np.float64]:
    """Return (seeds,) returns."""
    return np.array([game.play_episode(act, seed) for seed in seeds])


def quieten_gymnasium() -> None:
    """Silence MuJoCo's warning of an attribute in Gymnasium's models: no lines, and no MUJOCO_LOG.TXT."""
    if find_spec("mujoco") is not None:
        import_module("mujoco").set_mju_user_warning(lambda text: None)


class GymnasiumGame:
    """A game of Gymnasium."""

    def __init__(self, name: str, steps: int | None = None) -> None:
        """Raises ImportError."""
        import gymnasium

        quieten_gymnasium()

        self._game: Any = gymnasium.make(name, max_episode_steps=steps, disable_env_checker=True)
        self._space: Any = self._game.action_space
        if hasattr(self._space, "n"):
            self.actions: Mapping[str, Any] = {f"action {each}": each for each in range(self._space.n)}
        else:
            random = np.random.default_rng(0)
            drawn = {f"drawn {each}": self.random_action(random) for each in range(_DRAWN)}
            self.actions = {"nothing": np.zeros(self._space.shape), **drawn}

    def random_action(self, random: np.random.Generator) -> Any:
        if hasattr(self._space, "n"):
            return int(random.integers(self._space.n))
        return random.uniform(self._space.low, self._space.high)

    def play_episode(self, act: Action, seed: int) -> float:
        random, total, over = np.random.default_rng(seed), 0.0, False
        self._game.reset(seed=seed)
        while not over:
            _, reward, ended, cut, _ = self._game.step(act(random))
            total, over = total + float(reward), ended or cut
        return total


class ScreenGame:
    """An Atari game, in its own score."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.actions: Mapping[str, Any] = {
            f"action {each}": each for each in range(self._open_game(0).actions)
        }

    def random_action(self, random: np.random.Generator) -> int:
        return int(random.integers(len(self.actions)))

    def play_episode(self, act: Action, seed: int) -> float:
        random, game, total = np.random.default_rng(seed), self._open_game(seed), 0.0
        for _ in range(_LONGEST):
            rewards, _, ended = game.step(np.array([act(random)]))
            total += float(rewards[0])
            if ended:
                return float(ended[0])
        return total

    def _open_game(self, seed: int) -> Any:
        from olaflab.papers.screens import Screens

        return Screens(self._name, 1, seed)


class ParticleGame:
    """A game of the SDK's multi-agent example, in which all agents do the same: their mean return."""

    def __init__(self, name: str, agents: int) -> None:
        """``name`` is its class. Raises BadInput outside a checkout."""
        from olaflab.papers.marl.examples import load_example

        self._particles, self._name, self._agents = load_example("particles"), name, agents
        names = ("nothing", "right", "left", "up", "down")
        self.actions: Mapping[str, Any] = dict(zip(names, np.eye(self._particles.ACTIONS), strict=True))

    def random_action(self, random: np.random.Generator) -> Any:
        """Draw an action for each agent."""
        count = self._particles.ACTIONS
        return np.eye(count)[random.integers(count, size=self._agents)]

    def play_episode(self, act: Action, seed: int) -> float:
        random = np.random.default_rng(seed)
        game = getattr(self._particles, self._name)(self._agents, 1, np.random.default_rng((seed, 1)))
        game.reset()
        rewards = [
            game.step(np.broadcast_to(act(random), (self._agents, self._particles.ACTIONS)).reshape(1, -1))[1]
            for _ in range(self._particles.STEPS)
        ]
        return float(np.sum(rewards, axis=0)[0, : self._agents].mean())


GAMES: Mapping[str, Callable[[], TrivialGame]] = {
    "CartPole": partial(GymnasiumGame, "CartPole-v1"),
    "LunarLander": partial(GymnasiumGame, "LunarLander-v3", 500),
    **{
        name: partial(GymnasiumGame, f"{name}-v5")
        for name in ("Hopper", "HalfCheetah", "Walker2d", "Humanoid")
    },
    "Breakout": partial(ScreenGame, "breakout"),
    **{f"navigation, {each} agents": partial(ParticleGame, "Spread", each) for each in (3, 6, 12)},
    "predators, prey of the environment": partial(ParticleGame, "Hunt", 3),
}
"""The games of all papers, by name. A pole of the laboratory's is CartPole."""
