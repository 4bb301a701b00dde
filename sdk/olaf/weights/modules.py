"""Torch modules, and tensors by name, as bits: torch casts and copies many times as fast as numpy.

Tied tensors travel once. Of a sharded tensor (DTensor) all ranks make the full one together, and every rank
installs its own part, so a module under FSDP is published by each rank's ``publish`` call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from olaf.weights.codecs import Bits, unsigned
from olaf.weights.tensors import (
    Layout,
    OtherLayout,
    State,
    Tensor,
    kind_of,
    torch_name,
    travels_as,
    width_of,
)  # fmt: skip

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_TYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}


class Module:
    """A module's parameters and buffers, or tensors by name."""

    def __init__(self, source: Any, dtype: str | None) -> None:
        self._source = source
        seen: dict[tuple[Any, ...], str] = {}
        described = []
        for name, value in sorted(self._tensors().items()):
            tensor = _local(value)
            memory = (tensor.data_ptr(), tuple(value.shape), tensor.stride(), value.dtype)
            alias = seen.setdefault(memory, name) if tensor.numel() else name
            kind = travels_as(kind_of(str(value.dtype)), dtype)
            described.append((name, kind, tuple(value.shape), "" if alias == name else alias))
        self.layout = Layout(described)
        ranks = {_rank(value) for value in self._tensors().values()}
        self.leads = ranks <= {None, 0}

    def read(self) -> State:
        """A copy of all elements, at the rank that leads; the others give it their parts."""
        state = self.layout.empty() if self.leads else {}
        tensors = self._tensors()
        with torch.no_grad():
            for tensor in self.layout.own:
                value = tensors[tensor.name].detach()
                full = value.full_tensor() if hasattr(value, "full_tensor") else value
                if not self.leads:
                    continue
                state[tensor.width][tensor.place] = _bits(full, tensor.kind)
        return state

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Into the tensors' own memory, wherever that is and whatever its strides are."""
        own = self._tensors()
        with torch.no_grad():
            for tensor in tensors:
                value = own[tensor.name].detach()
                full = tensor_of(state, tensor)
                if hasattr(value, "full_tensor"):
                    full = _part(full, value)
                    value = value.to_local()
                value.copy_(full)

    def _tensors(self) -> dict[str, Any]:
        held: Mapping[str, Any] = self._source
        if hasattr(self._source, "state_dict"):
            held = self._source.state_dict(keep_vars=True)
        tensors = {name: value for name, value in held.items() if isinstance(value, torch.Tensor)}
        if not tensors:
            raise OtherLayout("the module has no tensors; give one with parameters")
        return tensors


def tensor_of(state: State, tensor: Tensor) -> torch.Tensor:
    """A tensor of a state, in the state's memory."""
    bits = torch.from_numpy(state[tensor.width][tensor.place].view(f"i{tensor.width}"))
    return bits.view(getattr(torch, torch_name(tensor.kind))).reshape(tensor.shape)


def _rank(value: Any) -> int | None:
    """This process's place in a sharded tensor's mesh; None of a tensor that is whole."""
    mesh = getattr(value, "device_mesh", None)
    return None if mesh is None else sum(mesh.get_coordinate())


def _local(value: Any) -> torch.Tensor:
    return value.to_local() if hasattr(value, "to_local") else value


def _part(full: torch.Tensor, like: Any) -> torch.Tensor:
    """This rank's part of a tensor that every rank has whole."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(
        full.to(like.device), like.device_mesh, like.placements, src_data_rank=None
    ).to_local()


def _bits(value: torch.Tensor, kind: str) -> Bits:
    value = value.to(_TYPES.get(kind, value.dtype)).contiguous().cpu()
    width = width_of(kind)
    array = value.reshape(-1).view(_BITS[width]).numpy()
    return np.asarray(array.view(unsigned(width)))
