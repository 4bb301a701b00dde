"""Proximal policy optimisation: from experience to the gradient a worker sends."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from olaflab.training import network
from olaflab.training.experience import Experience

FloatArray = npt.NDArray[np.float32]

LEARNING_RATE = 1e-3
"""γ of OLAF §2.1: the parameter server adds γ times a gradient to the weights."""

LOCAL_RATE = 5e-4
EPOCHS = 4
MINIBATCH = 256
CLIP = 0.2
VALUE_WEIGHT = 0.5
ENTROPY_WEIGHT = 0.01
LARGEST_NORM = 0.5


class PpoLearner:
    """A worker's optimiser: Adam over the flat parameter vector, its moments kept between updates."""

    def __init__(self, seed: int, parameters: int, rate: float = LOCAL_RATE) -> None:
        """``rate`` is Adam's."""
        self._parameters = torch.zeros(parameters, requires_grad=True)
        self._optimiser = torch.optim.Adam([self._parameters], lr=rate)
        self._random = torch.Generator().manual_seed(seed)

    def gradient(self, parameters: network.Vector, experience: Experience) -> network.Vector:
        """Return the ascent direction g, shape (parameters,), such that ``parameters + γ·g`` is where PPO
        ends.

        Several epochs make one update, so g is the sum of their steps in units of γ: applied alone, it
        moves the parameter server exactly as far as the worker moved.
        """
        with torch.no_grad():
            self._parameters.copy_(torch.from_numpy(parameters))
        batch = _to_tensors(experience)
        for _ in range(EPOCHS):
            order = torch.randperm(len(batch[0]), generator=self._random)
            for rows in order.split(MINIBATCH):
                self._step_optimiser([column[rows] for column in batch])
        moved: network.Vector = self._parameters.detach().numpy() - parameters
        return (moved / np.float32(LEARNING_RATE)).astype(np.float32)

    def gradient_parts(
        self, parameters: network.Vector, experience: Experience, parts: int
    ) -> list[FloatArray]:
        """Return the gradient (parameters,) at ``parameters`` of each of so many equal parts of the
        experience.

        Advantages are normalised over the whole of it, so that the parts' mean is the whole's gradient.
        """
        with torch.no_grad():
            self._parameters.copy_(torch.from_numpy(parameters))
        batch = _to_tensors(experience)
        batch[3] = _normalise_rewards(batch[3])
        found = []
        for rows in torch.arange(len(batch[0])).tensor_split(parts) if parts else ():
            self._optimiser.zero_grad()
            self._clipped_loss([column[rows] for column in batch]).backward()
            assert self._parameters.grad is not None
            found.append(self._parameters.grad.numpy().copy())
        return found

    def state(self) -> dict[str, FloatArray]:
        """Return Adam's moments, each of shape (parameters,), and its number of steps; empty before the
        first."""
        kept = self._optimiser.state[self._parameters]
        return {name: value.numpy() for name, value in kept.items()}

    def restore(self, state: Mapping[str, FloatArray]) -> None:
        """Go on from :meth:`state`. Raises ValueError for that of another model."""
        shapes = {name: value.shape for name, value in state.items()}
        moment = tuple(self._parameters.shape)
        if shapes != {"step": (), "exp_avg": moment, "exp_avg_sq": moment}:
            raise ValueError(f"no optimiser of {moment[0]} parameters: {shapes}")
        restored = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in state.items()}
        self._optimiser.state[self._parameters] = restored

    def _step_optimiser(self, batch: list[Any]) -> None:
        self._optimiser.zero_grad()
        self._clipped_loss([*batch[:3], _normalise_rewards(batch[3]), batch[4]]).backward()
        torch.nn.utils.clip_grad_norm_([self._parameters], LARGEST_NORM)
        self._optimiser.step()

    def _clipped_loss(self, batch: list[Any]) -> Any:
        observations, actions, before, advantages, returns = batch
        preferences, values = network.evaluate_network(
            network.split_layers(self._parameters), observations, torch.tanh
        )
        log_policy = torch.log_softmax(preferences, dim=-1)
        ratio = torch.exp(log_policy.gather(1, actions[:, None])[:, 0] - before)
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
        entropy = -(log_policy.exp() * log_policy).sum(-1).mean()
        error = (values - returns).square().mean()
        return VALUE_WEIGHT * error - gain - ENTROPY_WEIGHT * entropy


def _to_tensors(experience: Experience) -> list[Any]:
    columns = (
        experience.observations,
        experience.actions,
        experience.log_probabilities,
        experience.advantages,
        experience.returns,
    )
    return [torch.from_numpy(column) for column in columns]


def _normalise_rewards(advantages: Any) -> Any:
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-6)
