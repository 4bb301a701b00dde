"""The replicas' door for torch: any optimiser, stepped by every member with the same sums.

The script's parameters are what it computes gradients with. The weights that all members share, and the
optimiser that steps them, are copies of its own, which the port's thread moves. A step of the script's
optimiser commits the gradients that it finds, waits while S + 1 are on their way, and brings the newest
weights into the script's parameters.
"""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import torch

from olaf.errors import OtherParameters
from olaf.replicas.replica import Replica
from olaf.torch import flat
from olaf.transport.segments import Vector, representable

_PATIENCE = 60.0
"""Seconds until a wait looks again why it waits."""
_LINGER = 30.0
"""Seconds that a member that is done stays at most for others, which may miss a result."""


class Optimized:
    """Copies of a script's parameters, and of the optimisers that train them as one model."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self._optimizers = copy.deepcopy(list(optimizers))
        self._parameters = trained(self._optimizers)
        self._clear()

    @property
    def manifest(self) -> list[str]:
        """torch's version, each parameter, each optimiser and its hyperparameters."""
        lines = [f"torch {torch.__version__}"]
        lines += [
            f"parameter {number}: {str(parameter.dtype).split('.')[-1]} {list(parameter.shape)}"
            for number, parameter in enumerate(self._parameters)
        ]
        for optimizer in self._optimizers:
            lines.append(f"optimiser {type(optimizer).__module__}.{type(optimizer).__qualname__}")
            lines += settings(optimizer)
        return lines

    @property
    def weights(self) -> Vector:
        """(n,), a copy."""
        return flat.read(self._parameters)

    def step(self, mean: Vector) -> None:
        """One step of each optimiser."""
        place = 0
        for parameter in self._parameters:
            real = flat.real(parameter)
            part = torch.from_numpy(mean[place : place + real.numel()]).view_as(real).to(real)
            parameter.grad = torch.view_as_complex(part) if parameter.is_complex() else part
            place += real.numel()
        for optimizer in self._optimizers:
            optimizer.step()
        self._clear()

    def save(self) -> bytes:
        """Parameters as they are, and the optimisers' states."""
        file = io.BytesIO()
        states = [optimizer.state_dict() for optimizer in self._optimizers]
        torch.save({"parameters": [each.detach() for each in self._parameters], "states": states}, file)
        return file.getvalue()

    def load(self, state: bytes) -> None:
        """It reads only tensors, numbers and texts. Raises ValueError for another model's."""
        try:
            saved = torch.load(io.BytesIO(state), weights_only=True)
            with torch.no_grad():
                for own, theirs in zip(self._parameters, saved["parameters"]):
                    own.copy_(theirs)
            for optimizer, theirs in zip(self._optimizers, saved["states"]):
                optimizer.load_state_dict(theirs)
        except (RuntimeError, KeyError, TypeError, pickle.UnpicklingError, EOFError) as error:
            raise ValueError(str(error).split("\n")[0]) from error

    def give(self, parameters: Sequence[torch.Tensor]) -> None:
        """The weights to a script's parameters."""
        with torch.no_grad():
            for theirs, own in zip(parameters, self._parameters):
                theirs.copy_(own)

    def states(self) -> list[dict[str, Any]]:
        """The optimisers' states, copies."""
        return [copy.deepcopy(optimizer.state_dict()) for optimizer in self._optimizers]

    def _clear(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None


class Replicated:
    """The connection of a script's optimisers, which train one model, to the other members."""

    def __init__(
        self, optimizers: Sequence[torch.optim.Optimizer], server: str, wait: float, **replica: Any
    ) -> None:
        """As ``olaf.attach``."""
        self._optimizers = list(optimizers)
        self._parameters = trained(self._optimizers)
        self._optimized = Optimized(self._optimizers)
        self._settings = [settings(optimizer) for optimizer in self._optimizers]
        self._reward = -math.inf
        self.version = 0
        """Version of the weights that the script computes with."""
        self.replica = Replica(server, self._optimized, **replica)
        try:
            self.replica.begin(wait)
        except BaseException:
            self.replica.close()
            raise
        for optimizer in self._optimizers:
            vars(optimizer)["step"] = _nothing
        vars(self._optimizers[-1])["step"] = torch.compiler.disable(self._step)
        self._adopt()

    @property
    def done(self) -> bool:
        """Whether ``until`` steps have been applied: the script's present computation is not used."""
        return self.replica.done

    def reward(self, value: float) -> None:
        """The mean episode reward, which goes with the next contributions."""
        if representable(value):
            self._reward = float(value)

    def close(self) -> None:
        """Detach: the optimisers have the state that all members share, and step by themselves again."""
        self.replica.linger(_LINGER)
        self.replica.close()
        self._adopt()
        for optimizer, state in zip(self._optimizers, self._optimized.states()):
            vars(optimizer).pop("step", None)
            optimizer.load_state_dict(state)

    def _step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Commit the gradients, and go on with the newest weights when more may be committed."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check()
        self.replica.commit(self._gradient(), self.version, self._reward)
        while not self.replica.wait(lambda: self.replica.ready or self.replica.done, _PATIENCE):
            pass
        self._adopt()
        return loss

    def _gradient(self) -> Vector:
        """(n,); zeros where there is none."""
        parts = []
        for parameter in self._parameters:
            gradient = parameter.grad
            parts.append(torch.zeros_like(parameter) if gradient is None else gradient)
        return flat.read(parts)

    def _adopt(self) -> None:
        with self.replica.lock:
            self.version = self.replica.version
            self._optimized.give(self._parameters)

    def _check(self) -> None:
        """Refuse what this member alone would do otherwise."""
        if [settings(optimizer) for optimizer in self._optimizers] != self._settings:
            raise OtherParameters(
                "an optimiser's settings, or what it trains, have changed since it was attached, but replicas"
                " step by what they agreed on when they joined: close the link and attach again, everywhere"
            )


def _nothing(closure: Callable[[], Any] | None = None) -> None:
    """A step of an optimiser that steps with the last one."""


def trained(optimizers: Sequence[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """What the optimisers train, in their own order; shared parameters once."""
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    return list({id(p): p for group in groups for p in group["params"] if p.requires_grad}.values())


def settings(optimizer: torch.optim.Optimizer) -> list[str]:
    """A line for each group: how many parameters, and the hyperparameters."""
    lines = []
    for number, group in enumerate(optimizer.param_groups):
        values = {key: value for key, value in group.items() if key != "params"}
        message = ", ".join(f"{key}={_shown(value)}" for key, value in sorted(values.items()))
        lines.append(f"group {number} of {len(group['params'])}: {message}")
    return lines


def _shown(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, (torch.Tensor, np.ndarray)) else value)
