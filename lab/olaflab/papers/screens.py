"""Atari games, several side by side: small screens, clipped rewards, and the scores of whole games."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

GAMES = ("breakout",)
"""The papers' games that are played here, by the name of the ROM."""
WIDTH, STACK = 42, 4
"""Pixels of a screen's width and height, half of the papers'; and screens that an agent sees at once."""


class Screens:
    """A lost life ends what a return is discounted over, and the game goes on."""

    def __init__(self, game: str, number: int, seed: int) -> None:
        """Raises ImportError."""
        from ale_py.vector_env import AtariVectorEnv

        self._games: Any = AtariVectorEnv(
            game, num_envs=number, num_threads=1, img_height=WIDTH, img_width=WIDTH, stack_num=STACK,
            reward_clipping=False, life_loss_info=True, autoreset_mode="SameStep",
        )  # fmt: skip
        self.actions = int(self._games.single_action_space.n)
        seen, info = self._games.reset(seed=seed)
        self.seen: NDArray[np.uint8] = seen.copy()
        """(number, STACK, WIDTH, WIDTH)"""
        self._lives, self._scores = info["lives"].copy(), np.zeros(number)

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[float]]:
        """Return the sign of each reward, which games lost a life or ended, and the scores of ended games."""
        seen, reward, over, cut, info = self._games.step(actions)
        lost = info["lives"] < self._lives
        ended = (over & ~lost) | cut
        self._scores += reward
        scores = self._scores[ended].tolist()
        self._scores[ended] = 0.0
        self.seen, self._lives = seen.copy(), info["lives"].copy()
        return np.sign(reward), over | cut, scores

    def close(self) -> None:
        """End the games."""
        self._games.close()
