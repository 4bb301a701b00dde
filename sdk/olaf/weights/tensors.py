"""Describe a model's tensors: names, types and shapes, in one run of elements for each width.

Publisher and players compare these layouts before anything else. An element is its bits, whatever they mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Protocol

import numpy as np

from olaf.weights.codecs import Bits, unsigned_type

State = dict[int, Bits]
"""Elements by their width in bytes, widest first."""

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "complex64": "C64",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_WIDTHS = {
    "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1, "BOOL": 1, "C64": 8,
}  # fmt: skip
FLOATS = {"F64", "F32", "F16", "BF16"}
"""Types that ``dtype`` casts."""
_SKETCH = 64
"""Bytes that tell two layouts apart, tensor by tensor or by small groups of neighbours."""
_MOST_VARIANTS = 64


class OtherLayout(ValueError):
    """Two models differ in names, types, shapes or ties, or a tensor cannot be carried."""


Described = tuple[str, str, "tuple[int, ...]", str]
"""Name, type, shape, and the name whose memory it shares, or an empty one."""


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

    def __str__(self) -> str:
        return f"{self.name} ({self.kind} {list(self.shape)})"


class Layout:
    """The tensors of a model. Tied tensors are one, whichever of its names an end knows."""

    def __init__(self, tensors: Sequence[Described]) -> None:
        ends: dict[int, int] = {}
        self.tensors: list[Tensor] = []
        for name, kind, shape, alias in sorted(tensors):  # so that no order of theirs matters
            tensor = Tensor(name, kind, shape, ends.get(width_of(kind), 0), alias)
            self.tensors.append(tensor)
            if not alias:
                ends[tensor.width] = tensor.start + tensor.count
        self.counts = {width: ends[width] for width in sorted(ends, reverse=True)}
        """Elements by width, widest first."""
        self.bytes = sum(width * count for width, count in self.counts.items())
        if not sum(self.counts.values()):
            raise OtherLayout("the model has no values; give a model with tensors")
        self.text = json.dumps([[t.name, t.kind, t.shape, t.alias] for t in self.tensors])
        """The layout for :meth:`of` in another process."""
        self.own = [tensor for tensor in self.tensors if not tensor.alias]
        own = [str(tensor) for tensor in self.own]
        self.digest = hashlib.blake2b("\n".join(own).encode(), digest_size=16).digest()
        self._group = -(-len(own) // _SKETCH)
        groups = ("\n".join(own[n : n + self._group]) for n in range(0, len(own), self._group))
        sums = b"".join(hashlib.blake2b(group.encode(), digest_size=1).digest() for group in groups)
        self.sketch = len(own).to_bytes(4, "big") + sums
        """Names the first difference to another end's, in some bytes."""

    @classmethod
    def of(cls, text: str) -> Layout:
        """Return the layout that a publisher describes by its ``text``. Raises OtherLayout."""
        try:
            return cls([(name, kind, tuple(shape), alias) for name, kind, shape, alias in json.loads(text)])
        except (ValueError, TypeError):
            raise OtherLayout("the layout is damaged; give the publisher's layout") from None

    def first_element(self, width: int) -> int:
        """Return the number of a width's first element among all elements."""
        return sum(count for other, count in self.counts.items() if other > width)

    def zero_state(self) -> State:
        """Return a state of zeros."""
        return {width: np.zeros(count, unsigned_type(width)) for width, count in self.counts.items()}

    def name_difference(self, sketch: bytes) -> str:
        """Name the first tensor that the end with this ``sketch`` has otherwise."""
        count, sums = int.from_bytes(sketch[:4], "big"), sketch[4:]
        number = f"it has {count} tensors, this model {len(self.own)}"
        if -(-count // _SKETCH) != self._group:
            return number
        pairs = enumerate(zip(sums, self.sketch[4:]))
        first = next((place for place, (one, other) in pairs if one != other), min(len(sums), len(self.own)))
        names = [str(tensor) for tensor in self.own[first * self._group : (first + 1) * self._group]]
        if not names:
            return number
        between = "" if len(names) == 1 else f" to {names[-1]}"
        return f"the first difference is at {names[0]}{between}; {number}"

    def name_change(self, now: Layout) -> str | None:
        """Say which tensor is another one ``now``; None where nothing differs."""
        if now.text == self.text:
            return None
        before, after = ({t.name: t for t in layout.tensors} for layout in (self, now))
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name), after.get(name)
            if old is None or new is None:
                return f"{new or old} was {'added' if old is None else 'removed'}"
            if str(old) != str(new):
                return f"{old} has become {new}"
            if old.alias != new.alias:
                return f"{name} is {f'tied to {new.alias}' if new.alias else 'not tied any more'}"
        return None

    def tied_variants(self) -> Iterator[Layout]:
        """Yield the same tensors, each under another of its tied names: an end may know one of them alone."""
        names: dict[str, list[str]] = {tensor.name: [tensor.name] for tensor in self.own}
        for tensor in self.tensors:
            if tensor.alias:
                names[tensor.alias].append(tensor.name)
        kinds = {tensor.name: (tensor.kind, tensor.shape) for tensor in self.own}
        tied = {own: tied for own, tied in names.items() if len(tied) > 1}
        for choice in islice(product(*tied.values()), 1, _MOST_VARIANTS):
            chosen = dict(zip(tied, choice))
            yield Layout(
                [
                    (name, *kinds[own], "" if name == chosen.get(own, own) else chosen[own])
                    for own, group in names.items()
                    for name in group
                ]
            )


class Model(Protocol):
    """A model whose bits can be read and written."""

    layout: Layout
    leads: bool
    """Whether this process publishes it; others hold parts of it that ``read`` gathers."""

    def read(self) -> State:
        """Copy its elements. Raises OtherLayout where its tensors are not those of ``layout`` any more."""

    def require_writable(self) -> None:
        """Raise OtherLayout, with its name, for a tensor that cannot be installed."""

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Install these tensors of a state, and read them back. Raises OtherLayout where others are found."""


def kind_of(name: str, tensor: str) -> str:
    """Return safetensors' name of a type, by numpy's or torch's name. Raises OtherLayout."""
    try:
        return _NAMES[name.rpartition(".")[2]]
    except KeyError:
        raise OtherLayout(f"{tensor}: tensors of type {name} cannot be published; cast it first") from None


def torch_name(kind: str) -> str:
    """Return torch's name of a type."""
    return next(name for name, known in _NAMES.items() if known == kind)


def width_of(kind: str) -> int:
    """Return the bytes of an element of this type. Raises ValueError where it has no whole number of them."""
    if (bits := 8 * _WIDTHS.get(kind, 0) or int(kind.lstrip("BFIU"))) not in (8, 16, 32, 64):
        raise ValueError(kind)
    return bits // 8


def travels_as(kind: str, dtype: str | None) -> str:
    """Return the type that a tensor travels as."""
    return _NAMES[dtype] if dtype is not None and kind in FLOATS else kind


def require_equal(tensor: Tensor, wanted: Bits, found: Bits, what: str) -> None:
    """Raise OtherLayout where a tensor, read back, is not what was installed."""
    if not same_values(tensor, wanted, found):
        raise OtherLayout(f"{tensor} holds other values after it was installed: {what}")


def same_values(tensor: Tensor, one: Bits, other: Bits) -> bool:
    """Return whether all elements are equal; a NaN is equal to any NaN, because casts keep no more of it."""
    differ = one != other
    if not differ.any():
        return True
    return tensor.kind in FLOATS and bool(_nan(tensor.kind, one[differ], other[differ]).all())


def _nan(kind: str, *bits: Bits) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return where all of these are NaN."""
    exponent, width = {"F64": 11, "F32": 8, "F16": 5, "BF16": 8}[kind], 8 * width_of(kind)
    infinite = ((1 << exponent) - 1) << (width - 1 - exponent)
    magnitude = unsigned_type(width // 8).type((1 << (width - 1)) - 1)
    every = np.ones(len(bits[0]), np.bool_)
    for one in bits:
        every &= (one & magnitude) > infinite
    return every
