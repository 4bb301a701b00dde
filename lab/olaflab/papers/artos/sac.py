"""Soft actor-critic for discrete actions, small enough for a laptop: replay from the SDK's ring."""

from typing import Any

import gymnasium
import numpy as np
import torch
from olaf.experience import CUT, GOES_ON, TERMINATED, Ring, Uniform, Writer, layout, sample

ENVIRONMENT = "CartPole-v1"
_HIDDEN, _RATE, _DISCOUNT, _FOLLOW, _ENTROPY = 64, 1e-3, 0.99, 0.01, 0.05


class SoftActorCritic:
    """Four actors and a learner (ARTOS §6.1 has four)."""

    def __init__(
        self, seed: int, *, actors: int = 4, block: int = 32, updates: int = 16, batch: int = 128
    ) -> None:
        torch.manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._environments: list[Any] = [gymnasium.make(ENVIRONMENT) for _ in range(actors)]
        observation = self._environments[0].observation_space.shape[0]
        self._actions = int(self._environments[0].action_space.n)
        spec = layout({"obs": observation, "action": ((), "i8"), "reward": ()}, following="obs")
        self._ring = Ring(spec, 8192, actors)
        self._writers = [Writer(self._ring, number) for number in range(actors)]
        self._sampler = Uniform(self._ring, np.random.default_rng((seed, 1)))
        self._policy = _make_network(observation, self._actions)
        self._critics = [_make_network(observation, self._actions) for _ in range(2)]
        self._targets = [_make_network(observation, self._actions) for _ in range(2)]
        for target, critic in zip(self._targets, self._critics, strict=True):
            target.load_state_dict(critic.state_dict())
        self._actor_step = torch.optim.Adam(self._policy.parameters(), _RATE)
        self._critic_step = torch.optim.Adam(
            [p for critic in self._critics for p in critic.parameters()], _RATE
        )
        self._block, self._updates, self._batch = block, updates, batch
        self._seen: list[Any] = [None] * actors
        self._totals = [0.0] * actors
        self._scores: list[float] = []
        self.publish()

    def weights(self) -> list[Any]:
        return self._published

    def publish(self) -> None:
        self._published = [parameter.detach().numpy().copy() for parameter in self._policy.parameters()]

    def play(self, weights: list[Any], version: int) -> None:
        for actor, environment in enumerate(self._environments):
            for _ in range(self._block):
                self._play_step(actor, environment, weights, version)

    def learn(self) -> None:
        for _ in range(self._updates):
            self._update_networks()

    def score(self) -> float:
        return float(np.mean(self._scores[-max(1, len(self._scores) // 4) :])) if self._scores else np.nan

    def _play_step(self, actor: int, environment: Any, policy: list[Any], version: int) -> None:
        if self._seen[actor] is None:
            self._seen[actor], _ = environment.reset(seed=int(self._random.integers(1 << 31)))
            self._totals[actor] = 0.0
        seen = self._seen[actor]
        first, first_bias, second, second_bias, last, last_bias = policy
        hidden = np.maximum(first @ seen + first_bias, 0)
        hidden = np.maximum(second @ hidden + second_bias, 0)
        preferences = last @ hidden + last_bias
        noise = self._random.gumbel(size=self._actions)
        action = int(np.argmax(preferences + noise))
        after, reward, ended, cut, _ = environment.step(action)
        end = TERMINATED if ended else CUT if cut else GOES_ON
        writer = self._writers[actor]
        writer.write({"obs": [seen], "action": [action], "reward": [reward]}, version=version, end=end)
        self._totals[actor] += float(reward)
        self._seen[actor] = after
        if end != GOES_ON:
            writer.finish(obs=after)
            self._scores.append(self._totals[actor])
            self._seen[actor] = None

    def _update_networks(self) -> None:
        rows, _ = sample(self._ring, self._sampler, self._batch)
        seen, after, reward = (
            torch.from_numpy(np.ascontiguousarray(rows[key])) for key in ("obs", "next", "reward")
        )
        action = torch.from_numpy(np.ascontiguousarray(rows["action"]))[:, None]
        goes_on = torch.from_numpy((rows["end"] != TERMINATED).astype(np.float32))
        with torch.no_grad():
            chances = torch.log_softmax(self._policy(after), -1)
            least = torch.minimum(*(target(after) for target in self._targets))
            value = (chances.exp() * (least - _ENTROPY * chances)).sum(-1)
            wanted = reward + _DISCOUNT * goes_on * value
        loss = sum(
            torch.nn.functional.mse_loss(c(seen).gather(1, action)[:, 0], wanted) for c in self._critics
        )
        self._critic_step.zero_grad()
        loss.backward()
        self._critic_step.step()
        chances = torch.log_softmax(self._policy(seen), -1)
        with torch.no_grad():
            least = torch.minimum(*(critic(seen) for critic in self._critics))
        self._actor_step.zero_grad()
        (chances.exp() * (_ENTROPY * chances - least)).sum(-1).mean().backward()
        self._actor_step.step()
        with torch.no_grad():
            for target, critic in zip(self._targets, self._critics, strict=True):
                for slow, fast in zip(target.parameters(), critic.parameters(), strict=True):
                    slow.lerp_(fast, _FOLLOW)


def _make_network(inputs: int, outputs: int) -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, _HIDDEN), torch.nn.ReLU(), torch.nn.Linear(_HIDDEN, _HIDDEN), torch.nn.ReLU(),
        torch.nn.Linear(_HIDDEN, outputs),
    )  # fmt: skip
