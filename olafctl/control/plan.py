"""The plan: the difference between two states, in an order in which no frame is lost.

What is new is put in place before anything points at it, and what goes is pointed away from first:
members, growing groups, tables; then, the other way round, tables, shrinking groups, members. VNP4₁ names
a worker's cluster only once VNP4₂ can serve that cluster. A change in place is one modification.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from olafctl.control.pipeline import DEVICES, MEMBERS, TABLES, VNP4_1, VNP4_2, show_action, show_key
from olafctl.control.state import Call, DeviceState, EntryId, Group, State


class Op(Enum):
    """What a change does; the value is its sign in a diff."""

    INSERT = "+"
    MODIFY = "~"
    DELETE = "-"


@dataclass(frozen=True)
class EntryChange:
    """One table entry's change; ``after`` is None for a deletion."""

    op: Op
    entry: EntryId
    before: Call | None
    after: Call | None

    def __str__(self) -> str:
        table = TABLES[self.entry[0]]
        head = f"{self.op.value} {table.name} {show_key(table, self.entry[1])}"
        calls = [show_action(table, call.action, call.params) for call in (self.before, self.after) if call]
        return f"{head} -> {' => '.join(calls)}"


@dataclass(frozen=True)
class GroupChange:
    """One multicast group's change; an empty ``after`` of a deletion is no group at all."""

    op: Op
    group: int
    before: Group
    after: Group

    def __str__(self) -> str:
        text = f"{self.op.value} group {self.group}"
        gained, gone = self.after - self.before, self.before - self.after
        for sign, replicas in (("+", gained), ("-", gone)):
            if replicas:
                ordered = sorted((replica.egress_port, replica.instance) for replica in replicas)
                text += (
                    f" {sign}{{"
                    + ", ".join(f"port {p} member {m}" if m else f"port {p}" for p, m in ordered)
                    + "}"
                )
        return text


Change = EntryChange | GroupChange


@dataclass(frozen=True)
class Step:
    """Changes of one device that may go in one Write."""

    device: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class RegisterChange:
    """One setting of the queue."""

    name: str
    before: int | None
    """None when it is not known."""
    after: int

    def __str__(self) -> str:
        if self.before is None:
            return f"~ register {self.name} => {self.after}"
        return f"~ register {self.name} {self.before} => {self.after}"


@dataclass(frozen=True)
class Plan:
    """Steps in order, then the registers."""

    steps: tuple[Step, ...]
    registers: tuple[RegisterChange, ...]

    @property
    def size(self) -> int:
        """The number of changes."""
        return sum(len(step.changes) for step in self.steps) + len(self.registers)

    def lines(self) -> Iterator[str]:
        """The plan as a diff, one change a line."""
        for step in self.steps:
            for change in step.changes:
                sign, _, rest = str(change).partition(" ")
                yield f"{sign} {step.device} {rest}"
        for register in self.registers:
            sign, _, rest = str(register).partition(" ")
            yield f"{sign} queue {rest}"


def plan(actual: State, wanted: State) -> Plan:
    """The changes that take ``actual`` to ``wanted``; empty when they are equal."""
    old = {name: actual.devices.get(name, DeviceState()) for name in DEVICES}
    new = wanted.devices

    def entries(device: str, choose: Callable[[EntryChange], bool]) -> Step:
        changes = _entry_changes(old[device].entries, new[device].entries)
        return Step(device, tuple(change for change in changes if choose(change)))

    def groups(device: str, shrink: bool) -> Step:
        return Step(device, tuple(_group_changes(old[device].groups, new[device].groups, shrink)))

    steps = (
        entries(VNP4_2, lambda change: _adds(change) and _is_member(change)),
        groups(VNP4_2, shrink=False),
        entries(VNP4_2, lambda change: _adds(change) and not _is_member(change)),
        entries(VNP4_1, _adds),
        entries(VNP4_1, lambda change: not _adds(change)),
        entries(VNP4_2, lambda change: not _adds(change) and not _is_member(change)),
        groups(VNP4_2, shrink=True),
        entries(VNP4_2, lambda change: not _adds(change) and _is_member(change)),
    )
    registers = tuple(
        RegisterChange(name, actual.registers.get(name), value)
        for name, value in wanted.registers.items()
        if actual.registers.get(name) != value
    )
    return Plan(tuple(step for step in steps if step.changes), registers)


def _entry_changes(old: Mapping[EntryId, Call], new: Mapping[EntryId, Call]) -> Iterator[EntryChange]:
    for entry, call in new.items():
        if entry not in old:
            yield EntryChange(Op.INSERT, entry, None, call)
        elif old[entry] != call:
            yield EntryChange(Op.MODIFY, entry, old[entry], call)
    for entry, call in old.items():
        if entry not in new:
            yield EntryChange(Op.DELETE, entry, call, None)


def _group_changes(old: Mapping[int, Group], new: Mapping[int, Group], shrink: bool) -> Iterator[GroupChange]:
    """Growing brings each group to the union of before and after; shrinking takes it from there to after."""
    for group, after in new.items():
        before = old.get(group, frozenset())
        both = before | after
        if shrink and both != after:
            yield GroupChange(Op.MODIFY, group, both, after)
        elif not shrink and group not in old:
            yield GroupChange(Op.INSERT, group, frozenset(), after)
        elif not shrink and both != before:
            yield GroupChange(Op.MODIFY, group, before, both)
    for group, before in old.items():
        if shrink and group not in new:
            yield GroupChange(Op.DELETE, group, before, frozenset())


def _adds(change: EntryChange) -> bool:
    return change.op is not Op.DELETE


def _is_member(change: EntryChange) -> bool:
    return change.entry[0] == MEMBERS.name
