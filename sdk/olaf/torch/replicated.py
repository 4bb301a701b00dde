"""The replicas' door for torch: any optimiser, stepped by every member with the same sums.

The script's parameters are what it computes gradients with. The weights that all members share, and the
optimiser that steps them, are copies of its own, which the port's thread moves. A step of the script's
optimiser commits the gradients that it finds, waits while S + 1 are on their way, and brings the newest
weights into the script's parameters.

A parameter without a gradient travels as -0.0, which leaves the bits of every sum as they are. So a parameter
that no contribution has a gradient for gets none, and is left alone, as torch does. With several optimisers
each parameter's gradient is the one that its own optimiser found when it stepped, or none if it did not.
"""

from __future__ import annotations

import copy
import inspect
import io
import math
import pickle
import warnings
from collections.abc import Sequence
from functools import partial
from types import MethodType
from typing import Any, Callable

import numpy as np
import torch

from olaf.errors import OtherParameters
from olaf.guards import Dropped, as_number
from olaf.replicas.replica import Replica
from olaf.torch import flat
from olaf.transport.segments import Vector, representable

_PATIENCE = 60.0
"""Seconds until a wait looks again why it waits."""
_NEGATIVE_ZERO = np.uint32(1 << 31)
"""The bits of -0.0."""
_LINGER = 30.0
"""Seconds that a member that is done stays at most for others, which may miss a result."""


class Optimized:
    """Copies of a script's parameters, and of the optimisers that train them as one model."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self._optimizers = copy.deepcopy(list(optimizers))
        self._parameters = trained(self._optimizers)
        self._clear_gradients()

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
        """Step each optimiser; a parameter whose values are all -0.0 has no gradient."""
        place = 0
        for parameter in self._parameters:
            real = flat.real(parameter)
            values = mean[place : place + real.numel()]
            if _is_absent(values):
                place += real.numel()
                continue
            part = torch.from_numpy(values).view_as(real).to(real)
            parameter.grad = torch.view_as_complex(part) if parameter.is_complex() else part
            place += real.numel()
        for optimizer in self._optimizers:
            optimizer.step()
        self._clear_gradients()

    def save(self) -> bytes:
        """Return the parameters as they are, and the optimisers' states, as bytes."""
        file = io.BytesIO()
        states = [optimizer.state_dict() for optimizer in self._optimizers]
        torch.save({"parameters": [each.detach() for each in self._parameters], "states": states}, file)
        return file.getvalue()

    def load(self, state: bytes) -> None:
        """Load a state of tensors, numbers and texts only. Raises ValueError for another model's."""
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
        """Copy the weights to a script's parameters."""
        with torch.no_grad():
            for theirs, own in zip(parameters, self._parameters):
                theirs.copy_(own)

    def states(self) -> list[dict[str, Any]]:
        """Return copies of the optimisers' states."""
        return [copy.deepcopy(optimizer.state_dict()) for optimizer in self._optimizers]

    def _clear_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None


class Replicated:
    """The connection of a script's optimisers, which train one model, to the other members."""

    def __init__(
        self, optimizers: Sequence[torch.optim.Optimizer], server: str, wait: float, **replica: Any
    ) -> None:
        """As ``olaf.attach``."""
        self._optimizers = list(optimizers)
        for optimizer in self._optimizers:
            refuse(optimizer)
        self._parameters = trained(self._optimizers)
        if any(parameter.dtype in (torch.float64, torch.complex128) for parameter in self._parameters):
            warnings.warn(
                "gradients of replicas travel as binary32: parameters of doubles step as doubles, along sums "
                "that are rounded",
                stacklevel=4,
            )
        self._groups = _identify_groups(self._optimizers)
        self._found: dict[int, dict[int, torch.Tensor | None]] = {}
        """The gradients of each optimiser that has stepped since the last one did."""
        self._optimized = Optimized(self._optimizers)
        self._settings = [settings(optimizer) for optimizer in self._optimizers]
        self._reward = -math.inf
        self._dropped = Dropped("rewards")
        self.version = 0
        """Version of the weights that the script computes with."""
        self.replica = Replica(server, self._optimized, **replica)
        try:
            self.replica.begin(wait)
        except BaseException:
            self.replica.close()
            raise
        last = len(self._optimizers) - 1
        self._steps = [vars(optimizer).get("step") for optimizer in self._optimizers]
        for number, optimizer in enumerate(self._optimizers):
            _replace_step(
                optimizer, self._commit_step if number == last else partial(self._hold_gradients, number)
            )
        self._adopt_weights()

    @property
    def done(self) -> bool:
        """Whether ``until`` steps have been applied: the script's present computation is not used."""
        return self.replica.done

    def reward(self, value: float) -> None:
        """Set the mean episode reward, which goes with the next contributions."""
        if representable(value):
            self._reward = as_number(value)
        else:
            self._dropped.add()

    def close(self) -> None:
        """Detach: the optimisers have the state that all members share, and step by themselves again."""
        self.replica.linger(_LINGER)
        self.replica.close()
        self._adopt_weights()
        for optimizer, state, step in zip(self._optimizers, self._optimized.states(), self._steps):
            vars(optimizer).pop("step", None)
            if step is not None:
                vars(optimizer)["step"] = step
            optimizer.load_state_dict(state)

    def _commit_step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Commit the gradients, and go on with the newest weights when more may be committed."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check_settings()
        self.replica.commit(self._read_gradient(), self.version, self._reward)
        while not self.replica.wait(lambda: self.replica.ready or self.replica.done, _PATIENCE):
            pass
        self._adopt_weights()
        return loss

    def _hold_gradients(self, number: int, closure: Callable[[], Any] | None = None) -> None:
        """Take the gradients of an optimiser that steps with the last one: those that it has now count."""
        if closure is not None:
            raise OtherParameters(
                f"optimiser {number} was given a closure, but replicas step all with the last one: "
                "compute its loss before, and call step() without"
            )
        if number in self._found:
            raise OtherParameters(
                f"optimiser {number} stepped twice before the last one did, and replicas step all with the "
                "last one: attach the one that steps most often as the last"
            )
        own = trained(self._optimizers[number : number + 1])
        self._found[number] = {id(each): None if each.grad is None else each.grad.clone() for each in own}

    def _read_gradient(self) -> Vector:
        """Return the gradients (n,) that each optimiser found; -0.0 where there is none."""
        found = {id(each): each.grad for each in trained(self._optimizers[-1:])}
        for gradients in self._found.values():
            found.update(gradients)
        self._found.clear()
        parts: list[torch.Tensor] = []
        for number, parameter in enumerate(self._parameters):
            gradient = found.get(id(parameter))
            if gradient is None:
                gradient = torch.full_like(flat.real(parameter), -0.0)
            elif gradient.layout != torch.strided:
                raise OtherParameters(
                    f"the gradient of parameter {number} {list(parameter.shape)} is sparse, and replicas sum "
                    "dense ones: make its layer with sparse=False"
                )
            elif _is_absent(values := flat.read([gradient])):
                gradient = torch.from_numpy(values + np.float32(0))  # it has one: +0.0 each
            parts.append(gradient)
        return flat.read(parts)

    def _adopt_weights(self) -> None:
        with self.replica.lock:
            self.version = self.replica.version
            self._optimized.give(self._parameters)

    def _check_settings(self) -> None:
        """Refuse what this member alone would do otherwise."""
        same = _identify_groups(self._optimizers) == self._groups
        known = {id(parameter) for parameter in self._parameters}
        same = same and all(id(parameter) in known for parameter in trained(self._optimizers))
        if not same or [settings(optimizer) for optimizer in self._optimizers] != self._settings:
            raise OtherParameters(
                "an optimiser's settings, or what it trains, have changed since it was attached, but replicas"
                " step by what they agreed on when they joined: close the link and attach again, everywhere"
            )


def refuse(optimizer: torch.optim.Optimizer) -> None:
    """Raise ValueError for an optimiser that cannot step along a sum of gradients alone."""
    name = type(optimizer).__name__
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        why = "evaluates its loss within a step, which no other member can do for it"
    elif isinstance(optimizer, torch.optim.SparseAdam):
        why = "needs sparse gradients, and sums are dense"
    elif any(group.get("differentiable") for group in optimizer.param_groups):
        why = "is differentiable=True: its steps are taken apart from the script's graph"
    elif any(isinstance(group.get("lr"), torch.Tensor) and group["lr"].requires_grad
             for group in optimizer.param_groups):  # fmt: skip
        why = "has a learning rate that is trained"
    else:
        return
    raise ValueError(f'{name} {why}: mode="replica" cannot train with it; use mode="server", or Adam or SGD')


def _replace_step(optimizer: torch.optim.Optimizer, step: Callable[..., Any]) -> None:
    """Let ``step`` stand for the optimiser's, within the hooks that the script has registered on it."""

    def stepped(self: torch.optim.Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        return step(closure)

    hooked = torch.optim.Optimizer.profile_hook_step(stepped)
    vars(optimizer)["step"] = torch.compiler.disable(MethodType(hooked, optimizer))


def _identify_groups(optimizers: Sequence[torch.optim.Optimizer]) -> list[list[int]]:
    """Identify what the groups train: a parameter that takes another's place is another one."""
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    return [[id(each) for each in group["params"]] for group in groups]


def _is_absent(values: Vector) -> bool:
    """Return whether all values are -0.0, as those of a parameter without a gradient."""
    bits = values.view(np.uint32)
    return bool(len(bits) and bits[0] == _NEGATIVE_ZERO and (bits == _NEGATIVE_ZERO).all())


def trained(optimizers: Sequence[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """List what the optimisers train, in their own order; shared parameters once."""
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    return list({id(p): p for group in groups for p in group["params"] if p.requires_grad}.values())


def settings(optimizer: torch.optim.Optimizer) -> list[str]:
    """Return a line for each group: how many parameters, and the hyperparameters."""
    lines = []
    for number, group in enumerate(optimizer.param_groups):
        values = {key: value for key, value in group.items() if key != "params"}
        message = ", ".join(f"{key}={_show_value(value)}" for key, value in sorted(values.items()))
        lines.append(f"group {number} of {len(group['params'])}: {message}")
    return lines


def _show_value(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, (torch.Tensor, np.ndarray)) else value)
