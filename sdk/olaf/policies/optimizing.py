"""torch's optimisers in the parameter server: learners then keep no state, and may come and go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable, cast

import numpy as np
import torch

from olaf.policies.policy import State
from olaf.transport.segments import Segments, Vector

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
    "rmsprop": torch.optim.RMSprop,
}


class TorchOptimizer:
    """One optimiser for a model, each of whose segments steps when it likes, with a count of its own."""

    def __init__(
        self, weights: Vector, segments: Segments, rate: float, make: str | Callable[..., Any]
    ) -> None:
        """``weights`` (n,) are moved in place; ``rate`` is the optimiser's ``lr``.

        Raises ValueError for a name that is not in OPTIMIZERS.
        """
        if isinstance(make, str) and make not in OPTIMIZERS:
            raise ValueError(f"optimiser {make!r} does not exist: take one of {', '.join(OPTIMIZERS)}")
        self._segments, self._rate = segments, rate
        flat = torch.from_numpy(weights)
        self._tensors = [flat[segments.slice(segment)] for segment in range(segments.count)]
        maker = OPTIMIZERS[make] if isinstance(make, str) else make
        self._optimizer = cast(torch.optim.Optimizer, maker(list(self._tensors), lr=rate))
        self._name = type(self._optimizer).__name__

    def step(self, segments: range, mean: Vector, scale: float) -> list[int]:
        """Step these segments, ``scale`` times as far as usual.

        Returns those whose weights or moments are not finite afterwards: they have their earlier ones again.
        """
        tensors = self._tensors[segments.start : segments.stop]
        before = [(tensor.clone(), self._copy_moments(tensor)) for tensor in tensors]
        gradient, place = torch.from_numpy(np.negative(mean)), 0
        for tensor in tensors:
            tensor.grad = gradient[place : place + len(tensor)]
            place += len(tensor)
        (group,) = self._optimizer.param_groups
        group["params"], group["lr"] = tensors, self._rate * scale
        self._optimizer.step()
        overflowed = []
        for segment, tensor, (weights, moments) in zip(segments, tensors, before):
            tensor.grad = None
            if all(map(_is_finite, (tensor, *self._optimizer.state[tensor].values()))):
                continue
            tensor.copy_(weights)
            self._optimizer.state[tensor] = moments
            overflowed.append(segment)
        return overflowed

    def _copy_moments(self, tensor: torch.Tensor) -> dict[str, Any]:
        known = self._optimizer.state[tensor].items()
        return {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in known}

    def state(self) -> State:
        """Return each moment as one array (n,), numbers of segments as (segments,), and which stepped."""
        found: State = {}
        stepped = found[f"{self._name}/stepped/each"] = np.zeros(self._segments.count, np.float32)
        for segment, tensor in enumerate(self._tensors):
            for key, value in self._optimizer.state.get(tensor, {}).items():
                if not isinstance(value, torch.Tensor):
                    continue
                stepped[segment] = 1
                name = f"{self._name}/{key}"
                if value.dim() == 0:
                    found.setdefault(f"{name}/each", np.zeros_like(stepped))[segment] = value
                else:
                    whole = found.setdefault(name, np.zeros(self._segments.values, np.float32))
                    whole[self._segments.slice(segment)] = value.numpy()
        return found

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the state."""
        known = dict(state)
        stepped = known.pop(f"{self._name}/stepped/each", None)
        if stepped is None:
            raise ValueError(f"it was not written with the optimiser {self._name}")
        for segment in np.flatnonzero(stepped).tolist():
            own = self._optimizer.state[self._tensors[segment]]
            for name, array in known.items():
                _, key, *each = name.split("/")
                part = array[segment] if each else array[self._segments.slice(segment)]
                own[key] = torch.tensor(part)


def _is_finite(value: object) -> bool:
    """Return whether a tensor has finite values only, which its sum nearly always tells."""
    if not isinstance(value, torch.Tensor):
        return True
    return math.isfinite(value.sum().item()) or bool(torch.isfinite(value).all())
