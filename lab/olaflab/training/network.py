"""One network for policy and value (parameter sharing, OLAF §8.2), as shipped small enough for a jumbo frame.

Its parameters are one flat binary32 vector, in numpy to act and in torch to learn: the vector is the
unit that workers and the parameter server exchange. Its length gives the network's width.
"""

from collections.abc import Callable
from math import isqrt, prod
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

OBSERVATION = 8
ACTIONS = 4
HIDDEN = 40
"""The width as shipped: 2205 parameters, 64 + 4 × 2205 = 8884 bytes, within a jumbo frame of 9036."""


def count_parameters(hidden: int) -> int:
    """Count the parameters of a network whose two hidden layers have ``hidden`` units each."""
    return sum(prod(shape) for shape in _layer_shapes(hidden))


def _layer_shapes(hidden: int) -> tuple[tuple[int, ...], ...]:
    return (
        (OBSERVATION, hidden),
        (hidden,),
        (hidden, hidden),
        (hidden,),
        (hidden, ACTIONS + 1),
        (ACTIONS + 1,),
    )


def initial_parameters(random: np.random.Generator, hidden: int = HIDDEN) -> Vector:
    """Draw fresh parameters, one flat vector: orthogonal weights, a nearly uniform policy, zero biases."""
    parts = []
    shapes = _layer_shapes(hidden)
    for place, shape in enumerate(shapes):
        if len(shape) == 1:
            parts.append(np.zeros(shape))
            continue
        tall, _ = np.linalg.qr(random.standard_normal((max(shape), min(shape))))
        gain = 0.1 if place == len(shapes) - 2 else 2**0.5
        parts.append(gain * (tall if shape[0] >= shape[1] else tall.T))
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def split_layers(vector: Any) -> list[Any]:
    """Split the vector into weights and biases in order, as views; numpy array or torch tensor alike."""
    views, start = [], 0
    for shape in _layer_shapes(width_of(len(vector))):
        views.append(vector[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return views


def width_of(length: int) -> int:
    """Return the units of each hidden layer of the largest network of at most so many parameters.

    These are hidden² + linear · hidden + ACTIONS + 1.
    """
    linear = count_parameters(1) - 1 - (ACTIONS + 1)
    return (isqrt(linear**2 + 4 * (length - ACTIONS - 1)) - linear) // 2


def evaluate_network(views: list[Any], observation: Any, tanh: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Evaluate action preferences (…, ACTIONS) and values (…,) for observations (…, OBSERVATION)."""
    first, first_bias, second, second_bias, heads, heads_bias = views
    hidden = tanh(observation @ first + first_bias)
    hidden = tanh(hidden @ second + second_bias)
    out = hidden @ heads + heads_bias
    return out[..., :ACTIONS], out[..., ACTIONS]
