"""A torch model's parameters as one vector, as they travel: in their order, complex ones as pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from olaf.transport.segments import Vector


def read(parameters: Sequence[torch.Tensor]) -> Vector:
    """Return the values (n,) of ``parameters``, a copy."""
    with torch.no_grad():
        values = torch.cat([real(p).reshape(-1).to("cpu", torch.float32) for p in parameters])
    weights: Vector = values.numpy()
    return weights


def write(parameters: Sequence[torch.Tensor], weights: Vector) -> None:
    """Give them the values ``weights`` (n,)."""
    place = 0
    with torch.no_grad():
        for parameter in map(real, parameters):
            values = torch.from_numpy(weights[place : place + parameter.numel()])
            parameter.copy_(values.view_as(parameter))
            place += parameter.numel()


def move(parameters: Sequence[torch.Tensor], before: Vector, after: Vector) -> None:
    """Take them from the values ``before`` to ``after``, (n,); wider ones keep what binary32 cannot hold."""
    place = 0
    with torch.no_grad():
        for parameter in map(real, parameters):
            span = slice(place, place + parameter.numel())
            place = span.stop
            values = torch.from_numpy(after[span]).view_as(parameter)
            if parameter.dtype == torch.float64:
                own = torch.from_numpy(before[span]).view_as(parameter)
                parameter += values.to(parameter) - own.to(parameter)
            else:
                parameter.copy_(values)


def rounded(parameters: Sequence[torch.Tensor], weights: Vector) -> Vector:
    """Return ``weights`` (n,) as ``parameters`` hold them, rounded where one is narrower than binary32."""
    held, place = read(parameters), 0
    for parameter in map(real, parameters):
        span = slice(place, place + parameter.numel())
        place = span.stop
        if torch.finfo(parameter.dtype).bits >= 32:
            held[span] = weights[span]
    return held


@contextmanager
def holding(parameters: Sequence[torch.Tensor], weights: Vector) -> Iterator[None]:
    """Give ``parameters`` the values ``weights`` (n,) meanwhile; a graph made before may go backward after
    it."""
    own = [parameter.data for parameter in parameters]
    other = [torch.empty_like(data) for data in own]
    write(other, weights)
    try:
        for parameter, data in zip(parameters, other):
            parameter.data = data
        yield
    finally:
        for parameter, data in zip(parameters, own):
            parameter.data = data


def real(parameter: torch.Tensor) -> torch.Tensor:
    """Return the parameter, or a view of a complex one's real and imaginary parts."""
    parameter = parameter.detach()
    return torch.view_as_real(parameter) if parameter.is_complex() else parameter
