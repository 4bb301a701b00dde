"""Models as bits: arrays by name, files of safetensors, and whatever holds a torch module."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Union, cast

import numpy as np
import numpy.typing as npt

from olaf.weights.codecs import Bits, unsigned_type
from olaf.weights.tensors import (
    Layout,
    Model,
    OtherLayout,
    State,
    Tensor,
    kind_of,
    require_equal,
    travels_as,
    width_of,
)  # fmt: skip

Source = Union[str, "os.PathLike[str]", Mapping[str, npt.NDArray[Any]], Any]
"""A file of safetensors, arrays by name, or a torch module."""
_FLOATING = ("float64", "float32", "float16", "bfloat16")
_ADOPTED = "olaf.adopted"


def model_of(source: Source, dtype: str | None) -> Model:
    """Wrap ``source`` as a model whose floating-point tensors travel as ``dtype``; None: as they are.

    Raises OtherLayout for anything that is not a model.
    """
    if dtype is not None and dtype not in _FLOATING:
        raise OtherLayout(f"dtype {dtype!r}; give float32, float16, bfloat16 or None")
    if isinstance(getattr(source, "layout", None), Layout):
        return cast(Model, source)
    if isinstance(source, (str, os.PathLike)):
        return SafetensorsFile(Path(source), dtype)
    if isinstance(source, Mapping) and all(isinstance(value, np.ndarray) for value in source.values()):
        return Arrays(source, dtype)
    if hasattr(source, "param_groups"):
        raise OtherLayout(f"{type(source).__name__} is an optimiser; give the module that it trains")
    if hasattr(source, "state_dict") or isinstance(source, Mapping):
        from olaf.weights.modules import Module

        return Module(source, dtype)
    raise OtherLayout(f"{type(source).__name__} is not a model; give a module, a file or arrays by name")


def module_of(model: Any) -> Any:
    """Return the torch module that ``model`` is or holds. Raises OtherLayout."""
    if hasattr(model, "named_parameters"):
        return model
    get = getattr(model, "get_module", None)
    for found in (
        getattr(model, "policy", None),
        get() if callable(get) else None,
        getattr(model, "module", None),
    ):
        if hasattr(found, "named_parameters"):
            return found
    raise OtherLayout(f"{type(model).__name__} holds no torch module; give the module")


class Arrays:
    """Arrays by name; views of the same memory are aliases."""

    leads = True

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], dtype: str | None) -> None:
        self._arrays, self._dtype = arrays, dtype
        self.layout = self._first = self._described()

    def _described(self) -> Layout:
        seen: dict[tuple[Any, ...], str] = {}
        tensors = []
        for name, array in self._arrays.items():
            memory = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
            alias = seen.setdefault(memory, name) if array.size else name
            kind = travels_as(kind_of(array.dtype.name, name), self._dtype)
            tensors.append((name, kind, array.shape, "" if alias == name else alias))
        return Layout(tensors)

    def _require_unchanged(self) -> None:
        if (change := self._first.name_change(self._described())) is not None:
            raise OtherLayout(f"the arrays have changed: {change}; begin again with the new ones")

    def read(self) -> State:
        """Copy all elements."""
        self._require_unchanged()
        state = self.layout.zero_state()
        for tensor in self.layout.own:
            state[tensor.width][tensor.place] = self._bits(tensor)
        return state

    def require_writable(self) -> None:
        """Raise OtherLayout for a read-only array."""
        for tensor in self.layout.own:
            if not self._arrays[tensor.name].flags.writeable:
                raise OtherLayout(f"{tensor}: the array is read-only; give one that can be written")

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Write into the arrays' own memory."""
        self._require_unchanged()
        self.require_writable()
        for tensor in tensors:
            array = self._arrays[tensor.name]
            bits = state[tensor.width][tensor.place]
            array[...] = _uncast(bits, tensor.kind, array.dtype).reshape(tensor.shape)
        for tensor in tensors:
            what = f"{self._arrays[tensor.name].dtype} cannot hold them, or two arrays share memory"
            require_equal(tensor, state[tensor.width][tensor.place], self._bits(tensor), what)

    def _bits(self, tensor: Tensor) -> Bits:
        return _cast(np.ascontiguousarray(self._arrays[tensor.name]), tensor.kind)


class Adopted(NamedTuple):
    """Names the version that a file holds; its ``line`` is the publisher's run, ``when`` as in frames."""

    line: int
    version: int
    when: int


@dataclass(frozen=True)
class _Stored:
    """A tensor of a file, and the bytes it is at."""

    kind: str
    shape: tuple[int, ...]
    place: slice


class SafetensorsFile:
    """A file of safetensors; what is adopted replaces it in one step."""

    leads = True

    def __init__(self, path: Path, dtype: str | None) -> None:
        self._path, self._dtype = path, dtype
        stored, metadata = _stored(path)
        adopted = metadata.get(_ADOPTED)
        try:
            self.adopted = Adopted(*map(int, json.loads(adopted))) if adopted else None
            """What it was replaced by last: a player that was killed goes on from there."""
        except (ValueError, TypeError):
            raise OtherLayout(f"{path} is not a safetensors file: its {_ADOPTED} is damaged") from None
        self.layout = self._first = _described(path, stored, metadata, dtype)
        self._names = {tensor.name: tensor.name for tensor in self.layout.own}
        self._names |= {t.name: t.alias for t in self.layout.tensors if t.alias}

    def read(self) -> State:
        """Copy what the file holds now. Raises OtherLayout when it holds another model."""
        stored, metadata = _stored(self._path)
        change = self._first.name_change(_described(self._path, stored, metadata, self._dtype))
        if change is not None:
            raise OtherLayout(f"{self._path} holds another model: {change}; begin again with the new one")
        state = self.layout.zero_state()
        data = np.memmap(self._path, np.uint8, "r")
        for tensor in self.layout.own:
            found = stored[self._names[tensor.name]]
            raw = data[found.place].view(_type_of(found.kind))
            state[tensor.width][tensor.place] = _cast(raw, tensor.kind)
        return state

    def require_writable(self) -> None:
        """Accept any file: whether its folder can be written shows when it is."""

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Write the whole file, under its name when it is complete; other metadata stays."""
        metadata = _stored(self._path)[1]
        if self.adopted:
            metadata[_ADOPTED] = json.dumps(self.adopted)
        head: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
        end = 0
        for tensor in self.layout.own:
            begin, end = end, end + tensor.count * tensor.width
            entry = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [begin, end]}
            head[self._names[tensor.name]] = entry
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        whole = self._path.with_name(self._path.name + ".new")
        with whole.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in self.layout.own:
                file.write(state[tensor.width][tensor.place].tobytes())
            file.flush()
            os.fsync(file.fileno())
        whole.replace(self._path)


def _described(
    path: Path, stored: Mapping[str, _Stored], metadata: Mapping[str, str], dtype: str | None
) -> Layout:
    """Describe a file; ``safetensors.torch.save_model`` names dropped tied tensors in the metadata."""
    tensors = []
    for name, one in stored.items():
        try:
            kind = travels_as(one.kind, dtype)
            width_of(kind)
        except ValueError:
            what = f"{path}: {name} is of type {one.kind}, whose elements are not whole bytes"
            raise OtherLayout(f"{what}; store it as U8") from None
        tensors.append((name, kind, one.shape, ""))
        tensors += [(tied, kind, one.shape, name) for tied, to in metadata.items() if to == name != tied]
    return Layout(tensors)


def _stored(path: Path) -> tuple[dict[str, _Stored], dict[str, str]]:
    """Read the tensors of a file, and its metadata. Raises OtherLayout."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(min(size, 1 << 28)))
        metadata = dict(head.pop("__metadata__", {}))
        tensors = {}
        for name, one in head.items():
            start, stop = (8 + size + offset for offset in one["data_offsets"])
            tensors[name] = _Stored(one["dtype"], tuple(one["shape"]), slice(start, stop))
        return tensors, metadata
    except OSError as error:
        raise OtherLayout(f"{path}: {error.strerror}; give a safetensors file") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OtherLayout(f"{path} is not a safetensors file") from None


def _type_of(kind: str) -> np.dtype[Any]:
    """Return the type by which numpy holds such elements: as bits where it has no such type."""
    if kind in ("F64", "F32", "F16"):
        return np.dtype(f"<f{width_of(kind)}")
    return unsigned_type(width_of(kind))


def _cast(array: npt.NDArray[Any], kind: str) -> Bits:
    """Cast an array's elements to bits of the type that they travel as, rounded to nearest even."""
    own, wanted = array.reshape(-1), unsigned_type(width_of(kind))
    if own.dtype.kind != "f" or own.dtype == _type_of(kind):
        return own.view(wanted)
    if kind != "BF16":
        return own.astype(_type_of(kind)).view(wanted)
    bits = own.astype("<f4").view("<u4")
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    rounded = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
    return np.where(nan, bits >> 16 | 0x40, rounded).astype(wanted)


def _uncast(bits: Bits, kind: str, to: np.dtype[Any]) -> npt.NDArray[Any]:
    """Cast back from bits, which is exact into a type that is as wide."""
    if kind == "BF16" and to.kind == "f":
        return (bits.astype("<u4") << 16).view("<f4").astype(to)
    if to.kind == "f" and _type_of(kind) != to:
        return bits.view(_type_of(kind)).astype(to)
    return bits.view(to)
