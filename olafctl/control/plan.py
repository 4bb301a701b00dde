"""The plan: the difference between two states, in an order in which no frame is lost.

New objects are put in place before anything points at them, and objects to remove are first pointed away
from: members, growing groups, tables; then in reverse tables, shrinking groups, members. VNP4₁ names a
worker's cluster only once VNP4₂ can serve that cluster. A change in place is one modification.

Of several engines the lower ones can pass on frames from above before the upper ones send them, and the upper
ones know whose updates come up before the lower ones combine them.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from olafctl.control.pipeline import (
    ELSEWHERE,
    MEMBERS,
    VNP4_1,
    VNP4_2,
    block_of,
    show_action,
    show_key,
    show_replicas,
)
from olafctl.control.show import show_indices, show_register, show_settings
from olafctl.control.state import DeviceState, PipelineState, QueueState
from olafctl.queue.settings import Change as SettingsChange
from olafctl.queue.settings import find_changes
from olafswitch.p4runtime.entities import MulticastGroup, TableEntry


class Op(Enum):
    """The effect of a change; the value is its sign in a diff."""

    INSERT = "+"
    MODIFY = "~"
    DELETE = "-"


@dataclass(frozen=True)
class EntryChange:
    """One table entry's change; ``before`` is None for an insertion, ``after`` for a deletion."""

    op: Op
    before: TableEntry | None
    after: TableEntry | None

    @property
    def entity(self) -> TableEntry:
        """The entry in a Write of this change."""
        entry = self.after or self.before
        assert entry is not None
        return entry

    def __str__(self) -> str:
        calls = [show_action(entry) for entry in (self.before, self.after) if entry]
        return f"{self.op.value} {self.entity.table} {show_key(self.entity)} -> {' => '.join(calls)}"


@dataclass(frozen=True)
class GroupChange:
    """One multicast group's change; an absent group has no replicas."""

    op: Op
    before: MulticastGroup
    after: MulticastGroup

    @property
    def entity(self) -> MulticastGroup:
        """The group in a Write of this change."""
        return self.after

    def __str__(self) -> str:
        text = f"{self.op.value} group {self.after.group_id}"
        for sign, more, less in (("+", self.after, self.before), ("-", self.before, self.after)):
            changed = MulticastGroup(more.group_id, set(more.replicas) - set(less.replicas))
            if changed.replicas:
                text += f" {sign}{{{show_replicas(changed)}}}"
        return text


Change = EntryChange | GroupChange


@dataclass(frozen=True)
class PlanStep:
    """Changes of one device that may go in one Write."""

    device: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class RegisterChange:
    """One setting of the queue."""

    name: str
    before: int | None
    """None when the value before is not known."""
    after: int

    def __str__(self) -> str:
        if self.before is None:
            return f"~ register {self.name} => {show_register(self.name, self.after)}"
        before, after = (show_register(self.name, value) for value in (self.before, self.after))
        return f"~ register {self.name} {before} => {after}"


@dataclass(frozen=True)
class QueuePlan:
    """Changes of one queue."""

    registers: tuple[RegisterChange, ...] = ()
    settings: tuple[SettingsChange, ...] = ()

    @property
    def size(self) -> int:
        """The number of changes."""
        return len(self.registers) + len(self.settings)


@dataclass(frozen=True)
class ChangePlan:
    """The settings of indices, then the steps in order, then the registers."""

    steps: tuple[PlanStep, ...] = ()
    queues: Mapping[str, QueuePlan] = field(default_factory=dict)
    """Each queue's changes by the engine's name, each behind its parent's, with queues without changes."""

    @property
    def size(self) -> int:
        """The number of changes."""
        queues = sum(queue.size for queue in self.queues.values())
        return sum(len(step.changes) for step in self.steps) + queues

    @property
    def removals(self) -> "ChangePlan":
        """The plan's deletions alone, in the same order."""
        steps = (
            PlanStep(step.device, tuple(change for change in step.changes if change.op is Op.DELETE))
            for step in self.steps
        )
        return ChangePlan(tuple(step for step in steps if step.changes))

    def lines(self) -> Iterator[str]:
        """Yield the plan as a diff, one change a line."""
        queues = {
            f"{engine}/queue" if len(self.queues) > 1 else "queue": queue
            for engine, queue in self.queues.items()
        }
        for name, queue in queues.items():
            for settings in queue.settings:
                yield f"~ {name} {show_indices(settings.first, settings.last)} {_from_to(settings)}"
        for step in self.steps:
            for change in step.changes:
                sign, _, rest = str(change).partition(" ")
                yield f"{sign} {step.device} {rest}"
        for name, queue in queues.items():
            for register in queue.registers:
                sign, _, rest = str(register).partition(" ")
                yield f"{sign} {name} {rest}"


def plan_changes(actual: PipelineState, wanted: PipelineState) -> ChangePlan:
    """Return the changes from ``actual`` to ``wanted``; empty when they are equal."""
    new = wanted.devices
    old = {name: actual.devices.get(name, DeviceState()) for name in new}
    first = [name for name in new if block_of(name) == VNP4_1]
    second = [name for name in new if block_of(name) == VNP4_2]
    up = list(reversed(second))

    def entries(device: str, choose: Callable[[EntryChange], bool]) -> PlanStep:
        found = _entry_changes(old[device].entries, new[device].entries)
        return PlanStep(device, tuple(change for change in found if choose(change)))

    def groups(device: str, shrink: bool) -> PlanStep:
        return PlanStep(device, tuple(_group_changes(old[device].groups, new[device].groups, shrink)))

    steps = (
        *(entries(name, lambda change: _adds_frames(change) and _is_member(change)) for name in up),
        *(groups(name, shrink=False) for name in up),
        *(entries(name, lambda change: _adds_frames(change) and not _is_member(change)) for name in up),
        *(entries(name, _adds_frames) for name in first),
        *(entries(name, lambda change: not _adds_frames(change)) for name in reversed(first)),
        *(
            entries(name, lambda change: not _adds_frames(change) and not _is_member(change))
            for name in second
        ),
        *(groups(name, shrink=True) for name in second),
        *(entries(name, lambda change: not _adds_frames(change) and _is_member(change)) for name in second),
    )
    queues = {
        engine: _plan_queue(actual.queues.get(engine, QueueState()), queue)
        for engine, queue in wanted.queues.items()
    }
    return ChangePlan(tuple(step for step in steps if step.changes), queues)


def _plan_queue(actual: QueueState, wanted: QueueState) -> QueuePlan:
    registers = tuple(
        RegisterChange(name, actual.registers.get(name), value)
        for name, value in wanted.registers.items()
        if actual.registers.get(name) != value
    )
    return QueuePlan(registers, tuple(find_changes(actual.settings, wanted.settings)))


def _from_to(change: SettingsChange) -> str:
    after = show_settings(change.after)
    return f"=> {after}" if change.before is None else f"{show_settings(change.before)} => {after}"


def _entry_changes(
    old: Mapping[Hashable, TableEntry], new: Mapping[Hashable, TableEntry]
) -> Iterator[EntryChange]:
    for key, entry in new.items():
        if key not in old:
            yield EntryChange(Op.INSERT, None, entry)
        elif old[key] != entry:
            yield EntryChange(Op.MODIFY, old[key], entry)
    for key, entry in old.items():
        if key not in new:
            yield EntryChange(Op.DELETE, entry, None)


def _group_changes(
    old: Mapping[int, MulticastGroup], new: Mapping[int, MulticastGroup], shrink: bool
) -> Iterator[GroupChange]:
    """Yield changes that grow each group to old and new members, or shrink it from these to the new."""
    for number, after in new.items():
        before = old.get(number, MulticastGroup(number))
        both = MulticastGroup(number, {*before.replicas, *after.replicas})
        if shrink and both != after:
            yield GroupChange(Op.MODIFY, both, after)
        elif not shrink and number not in old:
            yield GroupChange(Op.INSERT, before, after)
        elif not shrink and both != before:
            yield GroupChange(Op.MODIFY, before, both)
    for number, before in old.items():
        if shrink and number not in new:
            yield GroupChange(Op.DELETE, before, MulticastGroup(number))


def _adds_frames(change: EntryChange) -> bool:
    """Return whether a change lets new frames in; a worker that is elsewhere now has left."""
    return change.after is not None and change.after.action != ELSEWHERE


def _is_member(change: EntryChange) -> bool:
    return change.entity.table == MEMBERS
