"""Experience: whole episodes of LunarLander-v3 played with one set of parameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from olaf.experience import CUT, GOES_ON, TERMINATED, advantages

from olaflab.training import network

ENVIRONMENT = "LunarLander-v3"
EPISODE_STEPS = 500
"""An episode is cut here; the value of its last state replaces the remainder."""

DISCOUNT = 0.99
TRACE_DECAY = 0.95
REWARD_SCALE = 0.02
"""Brings returns, some hundreds, to the size a value head learns quickly."""


@dataclass(frozen=True)
class Experience:
    """Steps of whole episodes, one row a step, and the mean episode reward."""

    observations: npt.NDArray[np.float32]
    """(steps, OBSERVATION)"""
    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    """Log-probability of each action when it was taken."""
    advantages: npt.NDArray[np.float32]
    """Generalised advantage estimates."""
    returns: npt.NDArray[np.float32]
    """The value head's target, in units of REWARD_SCALE."""
    mean_reward: float


def collect_episodes(
    environment: Any, parameters: network.Vector, episodes: int, random: np.random.Generator
) -> Experience:
    """Play ``episodes`` episodes, sampling each action from the policy."""
    views = network.split_layers(parameters)
    played = [_play_episode(environment, views, random) for _ in range(episodes)]
    columns = [np.concatenate(column) for column in zip(*(rows for rows, _ in played), strict=True)]
    observations, actions, log_probabilities, gained, returns = columns
    reward = float(np.mean([total for _, total in played]))
    return Experience(observations, actions, log_probabilities, gained, returns, reward)


def sample_action(views: list[Any], observation: Any, random: np.random.Generator) -> tuple[int, Any, Any]:
    """Draw an action from the policy; return it with its probability, and the observation's value."""
    preferences, value = network.evaluate_network(views, observation, np.tanh)
    weights = np.exp(preferences - preferences.max())
    ladder = np.cumsum(weights)
    action = min(int(np.searchsorted(ladder, random.random() * ladder[-1])), network.ACTIONS - 1)
    return action, weights[action] / ladder[-1], value


def _play_episode(
    environment: Any, views: list[Any], random: np.random.Generator
) -> tuple[tuple[npt.NDArray[Any], ...], float]:
    observation, _ = environment.reset(seed=int(random.integers(1 << 31)))
    observations, actions, chances, values, rewards = [], [], [], [], []
    while True:
        action, chance, value = sample_action(views, observation, random)
        observations.append(observation)
        actions.append(action)
        chances.append(chance)
        values.append(float(value))
        observation, reward, ended, cut, _ = environment.step(action)
        rewards.append(float(reward))
        if ended or cut:
            break
    ends, after = np.full(len(values), GOES_ON), np.zeros(len(values))
    ends[-1] = TERMINATED if ended else CUT
    after[-1] = network.evaluate_network(views, observation, np.tanh)[1]
    gained = advantages(np.array(rewards) * REWARD_SCALE, values, ends, after, DISCOUNT, TRACE_DECAY)
    rows = (
        np.array(observations, dtype=np.float32),
        np.array(actions, dtype=np.int64),
        np.log(np.array(chances, dtype=np.float32)),
        gained.astype(np.float32),
        (gained + values).astype(np.float32),
    )
    return rows, sum(rewards)
