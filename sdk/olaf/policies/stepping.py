"""Policies that move the weights by an optimiser's steps, whose state lives here: for stateless learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Protocol, Union

import numpy as np

from olaf.policies.policy import BLOCK, RATE, Policy, State
from olaf.transport.segments import Segments, Vector

Optimizer = Union[str, Callable[..., Any]]
"""``"adam"``, ``"sgd"`` or ``"rmsprop"`` of torch.optim, or what makes one from tensors and ``lr``."""


class Stepper(Protocol):
    """What turns mean gradients into moves of one model's weights."""

    def step(self, segments: range, mean: Vector, scale: float) -> None:
        """Move neighbouring segments along ``mean`` (n,), by ``scale`` times a whole step."""

    def state(self) -> State:
        """What must outlive the process."""

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Take it back; raises ValueError for the state of another one."""


class Ascent:
    """Without an optimiser: w ← w + γ·scale·mean."""

    def __init__(self, weights: Vector, segments: Segments, rate: float) -> None:
        """``weights`` (n,) are moved in place."""
        self._weights, self._segments, self._rate = weights, segments, rate

    def step(self, segments: range, mean: Vector, scale: float) -> None:
        """At once."""
        weights, rate = self._weights[self._segments.span(segments)], np.float32(self._rate * scale)
        for start in range(0, len(weights), BLOCK):
            block = slice(start, start + BLOCK)
            weights[block] += rate * mean[block]

    def state(self) -> State:
        """Nothing."""
        return {}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Nothing."""
        if state:
            raise ValueError("it was written with an optimiser in the server, which has none now")


class Stepping(Policy):
    """A policy with an optimiser, or plain ascent, that steps by mean gradients."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        optimizer: Optimizer | None = None,
        deadline: float | None = None,
    ) -> None:
        """With an ``optimizer``, ``rate`` is its ``lr``. Raises ValueError for an unknown one, ImportError
        without torch."""
        super().__init__(weights, segments, rate, deadline)
        self._stepper: Stepper
        if optimizer is None:
            self._stepper = Ascent(self.weights, self.segments, rate)
        else:
            from olaf.policies.optimizing import TorchOptimizer

            self._stepper = TorchOptimizer(self.weights, self.segments, rate, optimizer)

    def state(self) -> State:
        """The optimiser's."""
        return self._stepper.state()

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the state."""
        self._stepper.restore(state)
