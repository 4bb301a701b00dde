"""The state of a deployment as values that can be compared: entries, multicast groups, registers."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from olafctl.p4runtime.entities import MulticastGroup, TableEntry
from olafctl.queue.settings import Ranges


@dataclass(frozen=True)
class DeviceState:
    """What one P4Runtime device holds: entries by their keys, multicast groups by their ids."""

    entries: Mapping[Hashable, TableEntry] = field(default_factory=dict)
    groups: Mapping[int, MulticastGroup] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueState:
    """What a queue holds: global settings by register name, and the settings of its indices."""

    registers: Mapping[str, int]
    settings: Ranges = ()


@dataclass(frozen=True)
class State:
    """What a whole deployment holds: devices by name, each engine's behind its parent's, and the queue's
    global settings and those of its indices."""

    devices: Mapping[str, DeviceState]
    registers: Mapping[str, int]
    settings: Ranges = ()
    below: Mapping[str, QueueState] = field(default_factory=dict)
    """Of several engines, the queues of those below the root by the engine's name."""

    @property
    def root(self) -> QueueState:
        """What the queue holds; of several engines the root's."""
        return QueueState(self.registers, self.settings)


def device_state(entities: Iterable[TableEntry | MulticastGroup]) -> DeviceState:
    """The state that these entities are."""
    entries: dict[Hashable, TableEntry] = {}
    groups: dict[int, MulticastGroup] = {}
    for entity in entities:
        if isinstance(entity, TableEntry):
            entries[entity.key] = entity
        else:
            groups[entity.group_id] = entity
    return DeviceState(entries, groups)


def merged(one: DeviceState, other: DeviceState) -> DeviceState:
    """The state of a device that holds both; where they differ, what ``other`` says."""
    return DeviceState({**one.entries, **other.entries}, {**one.groups, **other.groups})
