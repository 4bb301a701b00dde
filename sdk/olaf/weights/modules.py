"""Torch modules, and tensors by name, as bits: torch casts and copies many times as fast as numpy.

A module is what it says when it is read or written, never what it said first. What is published is its
``state_dict``; what is installed goes into its own parameters and buffers, and is then read back. Of a
sharded tensor (DTensor) all ranks make the full one together, and every rank installs its own part, so a
module under FSDP is published by each rank's ``publish`` call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from olaf.weights.codecs import Bits, unsigned_type
from olaf.weights.tensors import (
    Layout,
    OtherLayout,
    State,
    Tensor,
    kind_of,
    require_equal,
    torch_name,
    travels_as,
    width_of,
)  # fmt: skip

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_TYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}
_WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
"""Parts of names that torch.compile, activation checkpoints and FSDP add."""
_PARALLEL = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)

Values = dict[str, torch.Tensor]


class Module:
    """A module's parameters and buffers, or tensors by name."""

    def __init__(self, source: Any, dtype: str | None) -> None:
        while isinstance(source, _PARALLEL) or hasattr(source, "_orig_mod"):
            self._group = getattr(source, "process_group", None)
            source = source.module if isinstance(source, _PARALLEL) else source._orig_mod
        self._source, self._dtype = source, dtype
        for name, part in source.named_modules() if isinstance(source, torch.nn.Module) else ():
            if type(part).__name__ == "FullyShardedDataParallel":
                what = f"{name or 'the module'} is wrapped by FullyShardedDataParallel"
                raise OtherLayout(f"{what}; shard it by fully_shard (fsdp_version: 2)")
        values = self._published()
        self.layout = self._first = self._described(values)
        ranks = {_rank(value) for value in values.values()}
        self.leads = ranks <= {None, 0} and (
            self._group is None or torch.distributed.get_rank(self._group) == 0
        )

    _group: Any = None
    """The process group of a module under DistributedDataParallel: all of its ranks have the same weights."""

    def read(self) -> State:
        """Copy all elements, at the rank that leads; the others give it their parts."""
        values = self._published()
        self._require_unchanged(values)
        state = self.layout.zero_state() if self.leads else {}
        with torch.no_grad():
            for tensor in self.layout.own:
                value = values[tensor.name].detach()
                full = value.full_tensor() if hasattr(value, "full_tensor") else value
                if self.leads:
                    state[tensor.width][tensor.place] = _bits(full, tensor.kind)
        return state

    def require_writable(self) -> None:
        """Raise OtherLayout for a tensor that is nothing of the module's own."""
        self._targets(self._published())

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Write into the tensors' own memory, wherever that is and whatever its strides are."""
        published = self._published()
        self._require_unchanged(published)
        targets = self._targets(published)
        with torch.no_grad():
            for tensor in tensors:
                value = targets[tensor.name].detach()
                full = tensor_of(state, tensor)
                try:
                    if hasattr(value, "full_tensor"):
                        full, value = _part(full, value), value.to_local()
                    value.copy_(full)
                except RuntimeError as error:
                    raise OtherLayout(f"{tensor} cannot be written: {error}") from error
            self._require_installed(state, tensors)

    def _require_installed(self, state: State, tensors: list[Tensor]) -> None:
        """Read back what the module computes with, and what it says of itself."""
        published = self._published()
        for values in (published, self._targets(published)):
            for tensor in tensors:
                value, full = values[tensor.name].detach(), tensor_of(state, tensor)
                if hasattr(value, "full_tensor"):
                    full, value = _part(full, value), value.to_local()
                what = f"its {value.dtype} cannot hold them, or the module derives it from other tensors"
                require_equal(tensor, _bits(full, tensor.kind), _bits(value, tensor.kind), what)

    def _published(self) -> Values:
        """Return the tensors by the names and values that the module publishes."""
        held: Mapping[str, Any] = self._source
        if hasattr(self._source, "state_dict"):
            held = self._source.state_dict(keep_vars=True)
        tensors = dict(_flattened((n, v) for n, v in held.items() if isinstance(v, torch.Tensor)))
        if not tensors:
            raise OtherLayout("the module has no tensors; give one with parameters")
        return tensors

    def _targets(self, published: Values) -> Values:
        """Return the memory that the module computes with, by the published names."""
        if not isinstance(self._source, torch.nn.Module):
            return published
        own = dict(_flattened(_own(self._source)))
        memories = {_memory(value) for value in own.values()}
        targets = {}
        for name, value in published.items():
            if name not in own and _memory(value) not in memories:
                raise OtherLayout(
                    f"{name}: the module's state_dict() gives a copy, and no parameter or buffer has this "
                    "name; give the module that has it"
                )
            targets[name] = own.get(name, value)
        return targets

    def _described(self, values: Values) -> Layout:
        seen: dict[tuple[Any, ...], str] = {}
        described = []
        for name, value in values.items():
            alias = seen.setdefault(_memory(value), name)
            kind = kind_of(str(value.dtype), name)
            if not isinstance(value, _Inner):
                kind = travels_as(kind, self._dtype)
            described.append((name, kind, tuple(value.shape), "" if alias == name else alias))
        return Layout(described)

    def _require_unchanged(self, values: Values) -> None:
        if (change := self._first.name_change(self._described(values))) is not None:
            raise OtherLayout(f"the module has changed: {change}; begin again with the new one")


def tensor_of(state: State, tensor: Tensor) -> torch.Tensor:
    """Return a tensor of a state, in the state's memory."""
    bits = torch.from_numpy(state[tensor.width][tensor.place].view(f"i{tensor.width}"))
    return bits.view(getattr(torch, torch_name(tensor.kind))).reshape(tensor.shape)


class _Inner(torch.Tensor):  # type: ignore[misc]
    """Marks a part of a wrapper tensor, which travels as it is: scales must not be rounded."""


def _flattened(named: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield tensors with memory of their own, and what wrappers (of quantisation, say) wrap."""
    for full_name, value in named:
        name = ".".join(part for part in full_name.split(".") if part not in _WRAPPERS)
        if hasattr(value, "full_tensor"):
            yield name, value
        elif hasattr(value, "__tensor_flatten__"):
            inner = [(f"{name}.{each}", getattr(value, each)) for each in value.__tensor_flatten__()[0]]
            for each, part in _flattened(inner):
                yield each, part if hasattr(part, "full_tensor") else part.detach().as_subclass(_Inner)
        else:
            _require_memory(name, value)
            yield name, value


def _require_memory(name: str, value: torch.Tensor) -> None:
    """Raise OtherLayout for a tensor whose elements are nowhere, or not one after the other."""
    why = ""
    if isinstance(value, torch.nn.parameter.UninitializedTensorMixin):
        why = "is not initialised; run the module once"
    elif value.is_meta:
        why = "is on the device meta; load it first"
    elif value.layout is not torch.strided:
        why = f"has the layout {value.layout}; make it dense"
    elif hasattr(value, "ds_id") and not value.numel():
        why = "is partitioned by DeepSpeed; use stage 2 or FSDP"
    elif value.numel() and not value.data_ptr():
        why = f"is a {type(value).__name__}, which has no memory and cannot be taken apart; convert it first"
    if why:
        raise OtherLayout(f"{name} {why}")


def _own(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the parameters and buffers of a module, by their names, whatever its ``state_dict`` says."""
    for prefix, part in module.named_modules(remove_duplicate=False):
        for tensors in (part._parameters, part._buffers):
            for name, value in tensors.items():
                if value is not None:
                    yield f"{prefix}.{name}" if prefix else name, value


def _memory(value: Any) -> tuple[Any, ...]:
    """Identify the memory of a tensor: those with equal identities are tied."""
    local = value.to_local() if hasattr(value, "to_local") else value
    if not local.numel() or not local.data_ptr():
        return ("object", id(value))
    return local.device, local.data_ptr(), tuple(value.shape), local.stride(), value.dtype


def _rank(value: Any) -> int | None:
    """Return this process's place in a sharded tensor's mesh; None of a tensor that is whole."""
    mesh = getattr(value, "device_mesh", None)
    return None if mesh is None else sum(mesh.get_coordinate())


def _part(full: torch.Tensor, like: Any) -> torch.Tensor:
    """Return this rank's part of a tensor that every rank has whole."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(
        full.to(like.device), like.device_mesh, like.placements, src_data_rank=None
    ).to_local()


def _bits(value: torch.Tensor, kind: str) -> Bits:
    value = value.as_subclass(torch.Tensor).resolve_conj().resolve_neg()
    value = value.to(_TYPES.get(kind, value.dtype)).contiguous().cpu()
    width = width_of(kind)
    array = value.reshape(-1).view(_BITS[width]).numpy()
    return np.asarray(array.view(unsigned_type(width)))
