"""Actors of LunarLander: each plays a block of steps in a turn, with the newest weights of the ring."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from olaf.experience import CUT, GOES_ON, TERMINATED, Ring, Writer, advantages, layout

from olaflab.training import experience, network

STEP = layout(
    {"obs": network.OBSERVATION, "action": ((), "i8"), "chance": (), "value": (), "reward": (), "after": (),
     "score": ()}
)  # fmt: skip
"""A step; ``chance`` is the action's logarithmic probability, ``after`` the value of what was seen next, and
``score`` the reward of the whole episode in its last step, elsewhere not a number."""
WEIGHTS = "weights"


class ActorPlayer:
    """One environment, played on from turn to turn."""

    def __init__(self, seed: tuple[int, ...]) -> None:
        self._environment: Any = gymnasium.make(
            experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS, disable_env_checker=True
        )
        self._random = np.random.default_rng(seed)
        self._seen: Any = None
        self._score = 0.0

    def play_steps(
        self, weights: network.Vector, steps: int
    ) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.uint8]]:
        """Play ``steps`` steps; return the columns of STEP, and how each step ends."""
        views = network.split_layers(weights)
        rows = {key: np.empty((steps, *shape), np.dtype(kind)) for key, (shape, kind) in STEP.keys.items()}
        ends = np.full(steps, GOES_ON, np.uint8)
        for step in range(steps):
            if self._seen is None:
                self._seen, _ = self._environment.reset(seed=int(self._random.integers(1 << 31)))
                self._score = 0.0
            action, chance, value = experience.sample_action(views, self._seen, self._random)
            rows["obs"][step], rows["action"][step], rows["value"][step] = self._seen, action, value
            rows["chance"][step] = np.log(chance)
            self._seen, reward, ended, cut, _ = self._environment.step(action)
            rows["reward"][step], rows["after"][step], rows["score"][step] = reward, 0.0, np.nan
            self._score += float(reward)
            if cut or step == steps - 1:
                rows["after"][step] = network.evaluate_network(views, self._seen, np.tanh)[1]
            if ended or cut:
                ends[step] = TERMINATED if ended else CUT
                rows["score"][step] = self._score
                self._seen = None
        return rows, ends

    def close(self) -> None:
        """Give the environment back."""
        self._environment.close()


def join_blocks(parts: Sequence[Mapping[str, npt.NDArray[Any]]]) -> experience.Experience:
    """Join blocks of players for a learner: columns of STEP, and ``end`` of each step.

    The mean reward is that of the episodes that ended in them, not a number where none did.
    """
    found = [
        advantages(part["reward"] * experience.REWARD_SCALE, part["value"], part["end"], part["after"],
                   experience.DISCOUNT, experience.TRACE_DECAY).astype(np.float32)
        for part in parts
    ]  # fmt: skip
    whole = {key: np.concatenate([part[key] for part in parts]) for key in STEP.keys}
    scores = whole["score"][~np.isnan(whole["score"])]
    gained = np.concatenate(found)
    return experience.Experience(
        observations=whole["obs"],
        actions=whole["action"].astype(np.int64),
        log_probabilities=whole["chance"],
        advantages=gained,
        returns=gained + whole["value"],
        mean_reward=float(scores.mean()) if len(scores) else np.nan,
    )


def make_turn(number: int, ring: Ring, seed: tuple[int, ...], steps: int) -> Callable[[], None]:
    """Make an actor's turn: a block, written at once, so that one that dies in it has written nothing."""
    writer = Writer(ring, number)
    player = ActorPlayer(
        (*seed, number, writer.position())
    )  # one that takes a dead one's place plays otherwise

    def turn() -> None:
        weights, version = ring.objects.read(WEIGHTS) or (None, 0)
        assert weights is not None
        rows, ends = player.play_steps(weights, steps)
        if not writer.write(rows, version=version, end=ends):
            raise BufferError("the ring is full of what was not learnt")

    return turn


def begin_player(number: int, name: str, seed: tuple[int, ...], steps: int) -> Callable[[], None]:
    """Begin a player in a process of its own."""
    return make_turn(number, Ring.open(name), seed, steps)
