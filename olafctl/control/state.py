"""The state of a deployment as values that can be compared: entries, multicast groups, registers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from olafctl.p4runtime.dataplane import Key, Replica

EntryId = tuple[str, Key]
"""A table's name and an entry's key."""


@dataclass(frozen=True)
class Call:
    """An action by name with its parameters, in the program's order."""

    action: str
    params: tuple[int, ...]


Group = frozenset[Replica]


@dataclass(frozen=True)
class DeviceState:
    """What one P4Runtime device holds."""

    entries: Mapping[EntryId, Call] = field(default_factory=dict)
    groups: Mapping[int, Group] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """What a whole deployment holds: devices by name, and the queue's settings by register name."""

    devices: Mapping[str, DeviceState]
    registers: Mapping[str, int]
