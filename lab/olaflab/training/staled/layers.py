"""Networks in numpy alone; their weights are one vector."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class LayeredNetwork:
    """Layers with tanh between them, or rectified ones."""

    def __init__(self, *sizes: int, rectified: bool = False) -> None:
        self._rectified = rectified
        self._shapes = tuple(pairwise(sizes))
        self.size = sum(inputs * outputs + outputs for inputs, outputs in self._shapes)

    def begin(self, random: np.random.Generator, last: float) -> Array:
        """Draw the weights to begin with; ``last`` is how much smaller those of the last layer are."""
        parts = []
        for place, (inputs, outputs) in enumerate(self._shapes):
            gain = last if place == len(self._shapes) - 1 else 1.0
            parts += [random.normal(0, gain / inputs**0.5, inputs * outputs), np.zeros(outputs)]
        return np.concatenate(parts)

    def forward(self, weights: Array, inputs: Array) -> list[Array]:
        """Return the inputs, what each layer makes of them, and last the outputs; one row each."""
        found = [inputs]
        for place, (first, bias) in enumerate(self._split_layers(weights)):
            sums = found[-1] @ first + bias
            if place < len(self._shapes) - 1:
                sums = np.maximum(sums, 0) if self._rectified else np.tanh(sums)
            found.append(sums)
        return found

    def backward(
        self, weights: Array, layers: Sequence[Array], slopes: Array, gradient: Array | None = None
    ) -> Array:
        """Return the loss's slopes in the inputs, from those in the outputs; write those in the weights into
        ``gradient``."""
        parts = self._split_layers(weights)
        into = None if gradient is None else self._split_layers(gradient)
        for place in reversed(range(len(parts))):
            if into is not None:
                into[place][0][:], into[place][1][:] = layers[place].T @ slopes, slopes.sum(0)
            slopes = slopes @ parts[place][0].T
            if place:
                passed = layers[place] > 0 if self._rectified else 1 - layers[place] ** 2
                slopes = slopes * passed
        return slopes

    def _split_layers(self, weights: Array) -> list[tuple[Array, Array]]:
        found, at = [], 0
        for inputs, outputs in self._shapes:
            middle, end = at + inputs * outputs, at + inputs * outputs + outputs
            found.append((weights[at:middle].reshape(inputs, outputs), weights[middle:end]))
            at = end
        return found


def clip_norm(gradient: Array, most: float = 0.5) -> Array:
    """Clip a gradient to a norm of ``most``."""
    return gradient * min(1.0, most / (float(np.linalg.norm(gradient)) + 1e-12))
