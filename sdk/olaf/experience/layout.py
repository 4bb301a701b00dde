"""Describe a row of experience: its keys, and the order in which they lie in memory."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import numpy.typing as npt

Shape = Union[int, tuple[int, ...]]
Spec = Union[Shape, tuple[Shape, str]]

GOES_ON, TERMINATED, CUT, CLOSING = range(4)
"""How a row ends: not; the episode is over; it was cut here, so that the value of what follows still counts;
or it is not a step, but holds the observation after the last step of an episode."""

_LINE = 64
"""Bytes of a processor's cache line."""

STAMP = "stamp"
"""The counter of a row's stamps."""
STAMPS = np.dtype([("version", "<u4"), ("actor", "<u2"), ("end", "u1"), ("episode", "<u4")], align=True)
"""On every row: the version of the policy that acted, the actor, how the row ends, its episode's number."""
STAMP_BITS = 32
"""Versions and episode numbers wrap at 2**32."""


@dataclass(frozen=True)
class Layout:
    """The keys of a row, and how rows lie in memory.

    ``joint`` rows, the default, have all keys of a step side by side: a batch of random rows costs one jump
    in memory a row. Otherwise each key is an array of its own (ARTOS §4.2), and costs one jump a key.

    With ``following``, a batch also has ``next``: that key of the row after. It is not stored twice; instead
    every episode has one closing row, with what was seen after its last step.
    """

    keys: Mapping[str, tuple[tuple[int, ...], str]]
    """Shape and type of one step's value."""
    joint: bool = True
    following: str | None = None
    parts: Mapping[str, tuple[slice, ...]] = field(default_factory=dict)
    """Each agent's columns of a key, in a row of several agents."""

    def __post_init__(self) -> None:
        reserved = {STAMP, *(STAMPS.names or ()), *(["next"] if self.following else [])}
        taken = reserved.intersection(self.keys)
        if not self.keys or taken:
            raise ValueError(f"keys {sorted(taken)} are reserved" if taken else "a row needs a key")
        if strange := [name for name in self.keys if not isinstance(name, str) or not name]:
            raise ValueError(f"{strange[0]!r} is no name of a key; give a text that is not empty")
        if self.following is not None and self.following not in self.keys:
            raise ValueError(f"following={self.following!r} is not one of the keys {', '.join(self.keys)}")

    @property
    def counters(self) -> tuple[str, ...]:
        """Everything with its own write counter: each key, and the stamps."""
        return (*self.keys, STAMP)

    @property
    def regions(self) -> tuple[np.dtype[Any], ...]:
        """The types of a slot in each region of memory; one region of joint rows, or one a key."""
        fields: list[Any] = [(name, kind, shape) for name, (shape, kind) in self.keys.items()]
        if self.joint:
            stamps = [(name, STAMPS[name]) for name in STAMPS.names or ()]
            return (_align_rows(np.dtype(fields + stamps, align=True)),)
        return (*(_align_rows(np.dtype([each])) for each in fields), STAMPS)

    @property
    def row_bytes(self) -> int:
        """Memory of a row, stamps included."""
        return sum(region.itemsize for region in self.regions)

    def describe(self) -> dict[str, Any]:
        """Describe the layout as JSON can hold it; :meth:`described` reads it."""
        return {
            "keys": [[name, list(shape), kind] for name, (shape, kind) in self.keys.items()],
            "joint": self.joint,
            "following": self.following,
            "parts": {key: [[p.start, p.stop] for p in parts] for key, parts in self.parts.items()},
        }

    @staticmethod
    def described(data: Mapping[str, Any]) -> Layout:
        """Read a layout from :meth:`describe`."""
        return Layout(
            {name: (tuple(shape), kind) for name, shape, kind in data["keys"]},
            data["joint"],
            data["following"],
            {key: tuple(slice(*part) for part in parts) for key, parts in data["parts"].items()},
        )


def layout(keys: Mapping[str, Spec], *, following: str | None = None, joint: bool = True) -> Layout:
    """Make a layout from shapes: ``{"obs": 8, "act": ((), "i8"), "reward": ()}``; binary32 where no type is
    given."""
    return Layout({name: _read_spec(name, spec) for name, spec in keys.items()}, joint, following)


def agents(
    observations: Sequence[int], actions: Sequence[int], *, following: bool = True, joint: bool = True
) -> Layout:
    """Make a layout of one binary32 row a step for agents that act together: all observations, all actions, …

    ``observations`` and ``actions`` are each agent's numbers of values. The keys are obs, act, next, reward
    and done; with ``following``, next is not stored. A centralised critic's input, every agent's observation
    and action, is one slice of the row: ``batch.together("obs", "act")``.
    """
    if len(observations) != len(actions):
        raise ValueError(f"{len(observations)} agents observe, {len(actions)} act")
    count = len(observations)
    sizes = {"obs": list(observations), "act": list(actions)}
    if not following:
        sizes["next"] = list(observations)
    sizes.update(reward=[1] * count, done=[1] * count)
    keys = {name: ((sum(each),), "<f4") for name, each in sizes.items()}
    parts = {name: _slice_parts(each) for name, each in sizes.items()}
    return Layout(keys, joint, "obs" if following else None, parts)


def _align_rows(row: np.dtype[Any]) -> np.dtype[Any]:
    """Align rows of many lines to a line, which makes copying them faster; short ones stay short."""
    if row.itemsize < 16 * _LINE:
        return row
    fields: Any = row.fields
    names = row.names or ()
    return np.dtype({
        "names": names, "formats": [fields[name][0] for name in names],
        "offsets": [fields[name][1] for name in names], "itemsize": -(-row.itemsize // _LINE) * _LINE,
    })  # fmt: skip


def _slice_parts(sizes: Sequence[int]) -> tuple[slice, ...]:
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends))


def _read_spec(name: str, spec: Spec) -> tuple[tuple[int, ...], str]:
    """Read a key's shape and type. Raises ValueError."""
    shape: Any = spec
    kind = "<f4"
    if isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[1], str):
        shape, kind = spec
    try:
        sizes = tuple(map(operator.index, shape if isinstance(shape, Iterable) else (shape,)))
    except TypeError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        what = f"key {name!r} has the shape {shape!r:.80}"
        raise ValueError(f"{what}; give numbers of values, and a key for each part of a nested space")
    try:
        found = np.dtype(kind)
    except TypeError:
        raise ValueError(f"key {name!r} is of type {kind!r}, which numpy does not know") from None
    if found.hasobject or found.names or not found.itemsize:
        raise ValueError(f"a key of type {kind!r}; give one of fixed size, without fields, such as 'f4'")
    return sizes, found.str


Rows = Mapping[str, npt.ArrayLike]
