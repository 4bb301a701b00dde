"""The state of a deployment as values that can be compared: entries, multicast groups, registers."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from olafctl.queue.settings import Ranges
from olafswitch.p4runtime.entities import MulticastGroup, TableEntry


@dataclass(frozen=True)
class DeviceState:
    """The state of one P4Runtime device: entries by their keys, multicast groups by their ids."""

    entries: Mapping[Hashable, TableEntry] = field(default_factory=dict)
    groups: Mapping[int, MulticastGroup] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueState:
    """The state of a queue: global settings by register name, and the settings of its indices."""

    registers: Mapping[str, int] = field(default_factory=dict)
    settings: Ranges = ()


@dataclass(frozen=True)
class PipelineState:
    """The state of a whole deployment: devices by name, and queues by the engine's name; each engine's behind
    its parent's."""

    devices: Mapping[str, DeviceState] = field(default_factory=dict)
    queues: Mapping[str, QueueState] = field(default_factory=dict)


def device_state(entities: Iterable[TableEntry | MulticastGroup]) -> DeviceState:
    """Return the state that consists of these entities."""
    entries: dict[Hashable, TableEntry] = {}
    groups: dict[int, MulticastGroup] = {}
    for entity in entities:
        if isinstance(entity, TableEntry):
            entries[entity.key] = entity
        else:
            groups[entity.group_id] = entity
    return DeviceState(entries, groups)


def merge_states(one: DeviceState, other: DeviceState) -> DeviceState:
    """Return the state of a device that holds both; where they differ, that of ``other``."""
    return DeviceState({**one.entries, **other.entries}, {**one.groups, **other.groups})
