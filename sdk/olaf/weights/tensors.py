"""Models as bits: tensors by name, in one run of elements for each width, whatever they stand for.

Names, types, shapes and aliases are the layout, which publisher and players compare before anything else. A
model is arrays by name, a file of safetensors, or a torch module (``olaf.weights.modules``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from olaf.weights.codecs import Bits, unsigned

State = dict[int, Bits]
"""Elements by their width in bytes, widest first."""

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_WIDTHS = {"F8_E4M3": 1, "F8_E5M2": 1, "BOOL": 1}
_ADOPTED = "olaf.adopted"


class OtherLayout(ValueError):
    """Two models differ in names, types, shapes or aliases, or a model cannot be published."""


@dataclass(frozen=True)
class Tensor:
    """One tensor: its place among the elements of its width."""

    name: str
    kind: str
    """As safetensors names types: BF16, F32, F8_E4M3, I64, …"""
    shape: tuple[int, ...]
    start: int
    alias: str = ""
    """The tensor whose memory it shares; it has no elements of its own then."""

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return width_of(self.kind)

    @property
    def count(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def place(self) -> slice:
        """Among the elements of its width."""
        return slice(self.start, self.start + self.count)


class Layout:
    """The tensors of a model."""

    def __init__(self, tensors: list[tuple[str, str, tuple[int, ...], str]]) -> None:
        """``tensors``: name, type, shape, and the name whose memory it shares or an empty one."""
        ends: dict[int, int] = {}
        self.tensors: list[Tensor] = []
        for name, kind, shape, alias in sorted(tensors):  # so that no order of theirs matters
            tensor = Tensor(name, kind, shape, ends.get(width_of(kind), 0), alias)
            self.tensors.append(tensor)
            if not alias:
                ends[tensor.width] = tensor.start + tensor.count
        self.counts = {width: ends[width] for width in sorted(ends, reverse=True)}
        """Elements by width, widest first."""
        if not sum(self.counts.values()):
            raise OtherLayout("the model has no values; give a model with tensors")
        self.text = json.dumps([[t.name, t.kind, t.shape, t.alias] for t in self.tensors])
        """The layout for :meth:`of` in another process."""
        self.digest = hashlib.blake2b(self.text.encode(), digest_size=16).digest()
        self.own = [tensor for tensor in self.tensors if not tensor.alias]

    @classmethod
    def of(cls, text: str) -> Layout:
        """The layout that a publisher describes by its ``text``. Raises OtherLayout."""
        try:
            return cls([(name, kind, tuple(shape), alias) for name, kind, shape, alias in json.loads(text)])
        except (ValueError, TypeError):
            raise OtherLayout("the layout is damaged; give the publisher's layout") from None

    def place(self, width: int) -> int:
        """The number of a width's first element among all elements."""
        return sum(count for other, count in self.counts.items() if other > width)

    def empty(self) -> State:
        """A state of zeros."""
        return {width: np.zeros(count, unsigned(width)) for width, count in self.counts.items()}


class Model(Protocol):
    """A model whose bits can be read and written."""

    layout: Layout
    leads: bool
    """Whether this process publishes it; others hold parts of it that ``read`` gathers."""

    def read(self) -> State:
        """A copy of its elements."""

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Install these tensors of a state."""


def kind_of(name: str) -> str:
    """The type that safetensors call so, by numpy's or torch's name. Raises OtherLayout."""
    try:
        return _NAMES[name.rpartition(".")[2]]
    except KeyError:
        raise OtherLayout(f"tensors of type {name} cannot be published; cast them first") from None


def torch_name(kind: str) -> str:
    """What torch calls this type."""
    return next(name for name, known in _NAMES.items() if known == kind)


def width_of(kind: str) -> int:
    """Bytes of an element of this type."""
    return _WIDTHS.get(kind) or int(kind.lstrip("BFIU")) // 8


def travels_as(kind: str, dtype: str | None) -> str:
    """The type that a tensor travels as."""
    floating = kind in ("F64", "F32", "F16", "BF16")
    return _NAMES[dtype] if dtype is not None and floating else kind


class Arrays:
    """Arrays by name; views of the same memory are aliases."""

    leads = True

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], dtype: str | None) -> None:
        self._arrays = arrays
        seen: dict[tuple[Any, ...], str] = {}
        tensors = []
        for name, array in arrays.items():
            memory = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
            alias = seen.setdefault(memory, name) if array.size else name
            kind = travels_as(kind_of(array.dtype.name), dtype)
            tensors.append((name, kind, array.shape, "" if alias == name else alias))
        self.layout = Layout(tensors)

    def read(self) -> State:
        """A copy of all elements."""
        state = self.layout.empty()
        for tensor in self.layout.own:
            array = np.ascontiguousarray(self._arrays[tensor.name])
            state[tensor.width][tensor.place] = _cast(array, tensor.kind)
        return state

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Into the arrays' own memory."""
        for tensor in tensors:
            array = self._arrays[tensor.name]
            bits = state[tensor.width][tensor.place]
            array[...] = _uncast(bits, tensor.kind, array.dtype).reshape(tensor.shape)


class Adopted(NamedTuple):
    """Which version a file holds; its ``line`` is the publisher's run, ``when`` as frames have it."""

    line: int
    version: int
    when: int


@dataclass(frozen=True)
class _Stored:
    """A tensor of a file, and the bytes it is at."""

    name: str
    kind: str
    shape: tuple[int, ...]
    place: slice


class SafetensorsFile:
    """A file of safetensors; what is adopted replaces it in one step."""

    leads = True

    def __init__(self, path: Path, dtype: str | None) -> None:
        self._path = path
        stored, self.adopted = _stored(path)
        """What it was replaced by last: a player that was killed goes on from there."""
        self.layout = Layout([(s.name, travels_as(s.kind, dtype), s.shape, "") for s in stored])

    def read(self) -> State:
        """What the file holds now. Raises OtherLayout when it holds another model."""
        state = self.layout.empty()
        found = {stored.name: stored for stored in _stored(self._path)[0]}
        data = np.memmap(self._path, np.uint8, "r")
        for tensor in self.layout.own:
            stored = found.get(tensor.name)
            if stored is None or stored.shape != tensor.shape:
                raise OtherLayout(f"{self._path}: {tensor.name} has changed; publish one layout only")
            raw = data[stored.place].view(_type_of(stored.kind))
            state[tensor.width][tensor.place] = _cast(raw, tensor.kind)
        return state

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """The whole file, under its name when it is complete."""
        head: dict[str, Any] = {"__metadata__": {_ADOPTED: json.dumps(self.adopted)}} if self.adopted else {}
        end = 0
        for tensor in self.layout.own:
            begin, end = end, end + tensor.count * tensor.width
            head[tensor.name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [begin, end]}
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


def _stored(path: Path) -> tuple[list[_Stored], Adopted | None]:
    """The tensors of a file, and what was adopted into it. Raises OtherLayout."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(min(size, 1 << 28)))
        adopted = head.pop("__metadata__", {}).get(_ADOPTED)
        tensors = []
        for name, one in head.items():
            start, stop = (8 + size + offset for offset in one["data_offsets"])
            tensors.append(_Stored(name, one["dtype"], tuple(one["shape"]), slice(start, stop)))
        return tensors, Adopted(*map(int, json.loads(adopted))) if adopted else None
    except OSError as error:
        raise OtherLayout(f"{path}: {error.strerror}; give a safetensors file") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OtherLayout(f"{path} is not a safetensors file") from None


def _type_of(kind: str) -> np.dtype[Any]:
    """What numpy holds elements of this type as: as bits where it has no such type."""
    if kind in ("F64", "F32", "F16"):
        return np.dtype(f"<f{width_of(kind)}")
    return unsigned(width_of(kind))


def _cast(array: npt.NDArray[Any], kind: str) -> Bits:
    """An array's elements as bits of the type that they travel as, rounded to nearest even."""
    own, wanted = array.reshape(-1), unsigned(width_of(kind))
    if own.dtype.kind != "f" or own.dtype == _type_of(kind):
        return own.view(wanted)
    if kind != "BF16":
        return own.astype(_type_of(kind)).view(wanted)
    bits = own.astype("<f4").view("<u4")
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    rounded = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
    return np.where(nan, bits >> 16 | 0x40, rounded).astype(wanted)


def _uncast(bits: Bits, kind: str, to: np.dtype[Any]) -> npt.NDArray[Any]:
    """The reverse, which is exact into a type that is as wide."""
    if kind == "BF16" and to.kind == "f":
        return (bits.astype("<u4") << 16).view("<f4").astype(to)
    if to.kind == "f" and _type_of(kind) != to:
        return bits.view(_type_of(kind)).astype(to)
    return bits.view(to)
