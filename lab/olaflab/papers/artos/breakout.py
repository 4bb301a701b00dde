"""PPO on Breakout, with CleanRL's settings, smaller screens and a network to match."""

from typing import Any

import numpy as np
import torch
from olaf.torch import flat
from olaf.torch.importance import clipped

from olaflab.papers.play import make_games, play_steps

ACTORS, STEPS = 16, 128
"""The paper's actors, and a quarter of its steps in a block."""
_RATE, _EPOCHS, _ROWS, _CLIP, _ENTROPY, _VALUE, _NORM = 1e-3, 4, 256, 0.1, 0.01, 0.5, 0.5


class BreakoutPolicy:
    """Sixteen actors and a learner, whose rate falls to nothing over so many updates."""

    def __init__(self, seed: int, updates: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._games = make_games("breakout", ACTORS, seed)
        self._agent = self._games.agent()
        self._parameters = list(self._agent.parameters())
        self._optimizer = torch.optim.Adam(self._parameters, _RATE, eps=1e-5)
        self._waiting: list[Any] = []
        self._updates, self._learnt = updates, 0
        self.scores: list[float] = []
        """Mean score of the games that ended in each block; of the block before where none did."""
        self.publish()

    def weights(self) -> Any:
        return self._published

    def publish(self) -> None:
        self._published = flat.read(self._parameters)

    def play(self, weights: Any, version: int) -> None:
        with flat.holding(self._parameters, weights):
            rows, ended = play_steps(self._games, self._agent, STEPS)
        self._waiting.append(rows)
        self.scores += [float(np.mean(ended))] if ended else self.scores[-1:] or [0.0]

    def learn(self) -> None:
        rows = self._waiting.pop(0)
        for group in self._optimizer.param_groups:
            group["lr"] = _RATE * (1 - self._learnt / self._updates)
        self._learnt += 1
        for _ in range(_EPOCHS):
            for part in torch.randperm(ACTORS * STEPS).split(_ROWS):
                self._update_weights(rows.select_rows(part))

    def score(self) -> float:
        return float(np.mean(self.scores[-max(1, len(self.scores) // 4) :]))

    def close(self) -> None:
        """End the games."""
        self._games.close()

    def _update_weights(self, rows: Any) -> None:
        policy, values = self._agent.both(rows.observations)
        ratio = (policy.log_prob(rows.actions) - rows.behaviour).exp()
        advantages = (rows.advantages - rows.advantages.mean()) / (rows.advantages.std() + 1e-8)
        error = (values - rows.returns).square().mean()
        loss = clipped(ratio, advantages, _CLIP) + _VALUE * error - _ENTROPY * policy.entropy().mean()
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, _NORM)
        self._optimizer.step()
