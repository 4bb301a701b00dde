"""Entities that a session writes and reads, by name: immutable, hashable, equal when the state is equal.

Desired state minus actual state is a set difference. Values are unsigned integers; a missing key field
matches everything.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from olafswitch.p4runtime.dataplane import (
    CounterData,
    Exact,
    Lpm,
    Match,
    MeterConfig,
    Optional,
    Range,
    Replica,
    Ternary,
)

__all__ = [
    "CloneSession",
    "CounterData",
    "DefaultAction",
    "DigestMessage",
    "Entity",
    "Exact",
    "Lpm",
    "Match",
    "MeterConfig",
    "MulticastGroup",
    "NamedValues",
    "Optional",
    "PacketIn",
    "Range",
    "Replica",
    "TableEntry",
    "Ternary",
]

_V = TypeVar("_V", covariant=True)


class NamedValues(Mapping[str, _V]):
    """An immutable, hashable mapping from names; its order of iteration is the names' order."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, _V] | Iterable[tuple[str, _V]] = ()) -> None:
        self._items = dict(sorted(dict(items).items()))
        self._hash = hash(tuple(self._items.items()))

    def __getitem__(self, name: str) -> _V:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NamedValues):
            return self._items == other._items
        return NotImplemented if not isinstance(other, Mapping) else self._items == dict(other)

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True)
class TableEntry:
    """An entry of ``table`` (its alias, as reads give it).

    ``match`` maps key fields to a Match; a plain int is an exact match. ``action`` is the action's
    alias; an entry of a table with an action profile has ``member`` or ``group`` instead.
    """

    table: str
    match: Mapping[str, Match | int] = field(default_factory=NamedValues)
    action: str = ""
    params: Mapping[str, int] = field(default_factory=NamedValues)
    priority: int = 0
    member: int = 0
    group: int = 0

    def __post_init__(self) -> None:
        given = {
            name: Exact(match) if isinstance(match, int) else match for name, match in self.match.items()
        }
        cared = {name: match for name, match in given.items() if not _matches_all(match)}
        object.__setattr__(self, "match", NamedValues(cared))
        object.__setattr__(self, "params", NamedValues(self.params))

    @property
    def key(self) -> tuple[str, NamedValues[Match], int]:
        """The table, match and priority, which identify the entry in its device."""
        assert isinstance(self.match, NamedValues)
        return self.table, self.match, self.priority

    def __str__(self) -> str:
        fields = " ".join(f"{name}={_show_match(match)}" for name, match in self.match.items())
        call = (
            f" -> {self.action}({', '.join(f'{n}={v}' for n, v in self.params.items())})"
            if self.action
            else ""
        )
        priority = f" priority {self.priority}" if self.priority else ""
        return f"{self.table}[{fields}]{priority}{call}"


@dataclass(frozen=True)
class DefaultAction:
    """A table's default action; with ``action`` empty a modify restores the program's own."""

    table: str
    action: str = ""
    params: Mapping[str, int] = field(default_factory=NamedValues)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", NamedValues(self.params))

    def __str__(self) -> str:
        return f"{self.table}[default] -> {self.action or 'the program’s own'}"


@dataclass(frozen=True)
class MulticastGroup:
    """A multicast group; the order of its replicas has no meaning."""

    group_id: int
    replicas: Iterable[Replica] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicas", _sort_replicas(self.replicas))

    def __str__(self) -> str:
        return f"multicast group {self.group_id}"


@dataclass(frozen=True)
class CloneSession:
    """A clone session; ``packet_length`` in bytes truncates, 0 does not."""

    session_id: int
    replicas: Iterable[Replica] = ()
    packet_length: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicas", _sort_replicas(self.replicas))

    def __str__(self) -> str:
        return f"clone session {self.session_id}"


Entity = TableEntry | DefaultAction | MulticastGroup | CloneSession


@dataclass(frozen=True)
class PacketIn:
    """A packet from the data plane, with the fields of the program's ``packet_in`` header."""

    payload: bytes
    metadata: Mapping[str, int]


@dataclass(frozen=True)
class DigestMessage:
    """A list of digests; each has one value for each member of the program's digest type."""

    digest: str
    list_id: int
    values: tuple[tuple[int, ...], ...]


def _matches_all(match: Match) -> bool:
    if match is None:
        return True
    return (isinstance(match, Lpm) and match.prefix_len == 0) or (
        isinstance(match, Ternary) and match.mask == 0
    )


def _sort_replicas(replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    return tuple(sorted(replicas, key=lambda replica: (replica.egress_port, replica.instance)))


def _show_match(match: Match | int) -> str:
    if isinstance(match, Exact | Optional):
        return f"{match.value:#x}"
    if isinstance(match, Lpm):
        return f"{match.value:#x}/{match.prefix_len}"
    if isinstance(match, Ternary):
        return f"{match.value:#x}&{match.mask:#x}"
    if isinstance(match, Range):
        return f"{match.low:#x}..{match.high:#x}"
    return str(match)
