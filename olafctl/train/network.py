"""One network for policy and value (parameter sharing, OLAF §8.2), small enough for one jumbo frame.

Its parameters are one flat binary32 vector, in numpy to act and in torch to learn: the vector is the
unit that workers and the parameter server exchange.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

OBSERVATION = 8
ACTIONS = 4
HIDDEN = 40
_SHAPES = (
    (OBSERVATION, HIDDEN),
    (HIDDEN,),
    (HIDDEN, HIDDEN),
    (HIDDEN,),
    (HIDDEN, ACTIONS + 1),
    (ACTIONS + 1,),
)
PARAMETERS = sum(prod(shape) for shape in _SHAPES)
"""2205 values: 64 + 4 × 2205 = 8884 bytes, within a jumbo frame of 9036."""


def initial(random: np.random.Generator) -> Vector:
    """Fresh parameters, shape (PARAMETERS,): orthogonal weights, a nearly uniform policy, zero biases."""
    parts = []
    for place, shape in enumerate(_SHAPES):
        if len(shape) == 1:
            parts.append(np.zeros(shape))
            continue
        tall, _ = np.linalg.qr(random.standard_normal((max(shape), min(shape))))
        gain = 0.1 if place == len(_SHAPES) - 2 else 2**0.5
        parts.append(gain * (tall if shape[0] >= shape[1] else tall.T))
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def layers(parameters: Any) -> list[Any]:
    """The vector's weights and biases in order, as views; numpy array or torch tensor alike."""
    views, start = [], 0
    for shape in _SHAPES:
        views.append(parameters[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return views


def forward(views: list[Any], observation: Any, tanh: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Action preferences (…, ACTIONS) and values (…,) for observations (…, OBSERVATION)."""
    first, first_bias, second, second_bias, heads, heads_bias = views
    hidden = tanh(observation @ first + first_bias)
    hidden = tanh(hidden @ second + second_bias)
    out = hidden @ heads + heads_bias
    return out[..., :ACTIONS], out[..., ACTIONS]
