"""STF's commands applied to a switch: names become ids, texts become matches."""

import re
from collections.abc import Iterable
from typing import Any, Protocol

from olafswitch.p4.stf.commands import Add, CheckCounter, Direct, SetDefault, Unreadable
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    Exact,
    ForwardingPlane,
    Key,
    Lpm,
    Match,
    MeterConfig,
    Optional,
    P4Info,
    Range,
    Replica,
    Ternary,
)

_DIGIT_BITS = {"0x": 4, "0b": 1, "0o": 3}


def by_name(items: Iterable[Any], name: str) -> Any:
    """The object of this name, or the only one whose name ends with it; raises Unreadable otherwise."""
    listed = list(items)
    for item in listed:
        if name in (item.preamble.name, item.preamble.alias):
            return item
    ending = [item for item in listed if item.preamble.name.endswith(name)]
    if len(ending) != 1:
        raise Unreadable(f"{name}: {'ambiguous' if ending else 'no such object'}")
    return ending[0]


def number(text: str) -> int:
    """A number in any base; ``*`` digits count as 0."""
    return int(text.replace("*", "0").replace("_", ""), 0) if not re.fullmatch(r"0\d+", text) else int(text)


def _wildcard(text: str, width: int) -> tuple[int, int]:
    """Value and mask of a number with ``*`` digits."""
    if "*" not in text:
        return number(text), (1 << width) - 1
    bits = _DIGIT_BITS[text[:2].lower()]
    mask = 0
    for digit in text[2:]:
        mask = mask << bits | (0 if digit == "*" else (1 << bits) - 1)
    if "*" not in text[2:3]:
        mask |= ((1 << width) - 1) & ~((1 << (bits * len(text[2:]))) - 1)
    return number(text), mask & ((1 << width) - 1)


class Switch(ForwardingPlane, Protocol):
    """A v1model program that runs."""

    def process(self, port: int, frame: bytes, now_ns: int) -> list[tuple[int, bytes]]:
        """One frame: port and frame of what leaves."""


class Control:
    """Programs one switch with the commands of an STF file."""

    def __init__(self, switch: Switch, info: P4Info) -> None:
        self.switch = switch
        self.info = info
        self._labels: dict[str, tuple[int, Key, int]] = {}
        self._nodes: list[list[Replica]] = []
        self._groups: dict[int, list[int]] = {}
        self._mirrors: dict[int, tuple[int | None, int | None]] = {}

    def run(self, command: Add | SetDefault | CheckCounter | Direct) -> str:
        """Run it; the difference, for a check that failed.

        Raises Unreadable when it names something that is not there.
        """
        match command:
            case Add():
                self._add(command)
            case SetDefault(table=name):
                table = by_name(self.info.tables, name)
                self.switch.set_default(table.preamble.id, self._action(table, command.action, command.args))
            case CheckCounter():
                return self._check(command)
            case Direct():
                self._direct(command)
        return ""

    def _action(self, table: Any, name: str, args: tuple[tuple[str, str], ...]) -> ActionCall:
        ids = {ref.id for ref in table.action_refs}
        action = by_name((a for a in self.info.actions if a.preamble.id in ids), name)
        given = dict(args)
        unknown = set(given) - {param.name for param in action.params}
        if unknown:
            raise Unreadable(f"{name}: no parameter {unknown.pop()}")
        return ActionCall(action.preamble.id, tuple(number(given[p.name]) for p in action.params))

    def _add(self, command: Add) -> None:
        table = by_name(self.info.tables, command.table)
        matches: list[Match] = [self._absent(field) for field in table.match_fields]
        for name, text in command.keys:
            at = self._field(table, name)
            matches[at] = self._match(table.match_fields[at], text)
        priority = command.priority or 0
        action = self._action(table, command.action, command.args)
        self.switch.insert(table.preamble.id, tuple(matches), priority, action)
        self._labels[command.label] = (table.preamble.id, tuple(matches), priority)

    def _absent(self, field: Any) -> Match:
        return Exact(0) if field.match_type == field.EXACT else None

    def _field(self, table: Any, name: str) -> int:
        wanted = re.sub(r"\$(\d+)", r"[\1]", name)
        names = [field.name for field in table.match_fields]
        for tries in (wanted, wanted + ".$valid$", wanted.replace(".valid", ".$valid$")):
            for at, known in enumerate(names):
                if known == tries or known.endswith("." + tries):
                    return at
        raise Unreadable(f"{table.preamble.name}: no key {name}")

    def _match(self, field: Any, text: str) -> Match:
        width = field.bitwidth
        if field.match_type == field.EXACT:
            return Exact(number(text))
        if field.match_type == field.OPTIONAL:
            return Optional(number(text))
        if field.match_type == field.LPM:
            value, _, length = text.partition("/")
            if length:
                return Lpm(number(value), number(length))
            stars = len(value) - len(value.rstrip("*"))
            return Lpm(number(value), width - stars * _DIGIT_BITS.get(value[:2].lower(), 4))
        if field.match_type == field.RANGE:
            low, _, high = text.partition("->") if "->" in text else text.partition("..")
            return Range(number(low), number(high or low))
        value, mask = text.split("&&&") if "&&&" in text else (text, "")
        if mask:
            return Ternary(number(value) & number(mask), number(mask))
        return Ternary(*_wildcard(text, width))

    def _check(self, command: CheckCounter) -> str:
        if command.index.startswith("$"):
            data = self.switch.direct_counter(*self._labels[command.index[1:]])
        else:
            counter = by_name(self.info.counters, command.counter)
            data = self.switch.counter(counter.preamble.id, int(command.index, 0))
        value = data.packets if command.unit == "packets" else data.bytes
        good = {
            "==": value == command.value, "!=": value != command.value, "<": value < command.value,
            "<=": value <= command.value, ">": value > command.value, ">=": value >= command.value,
        }[command.condition]  # fmt: skip
        return "" if good else f"counter {command.counter}({command.index}) is {value} {command.unit}"

    def _direct(self, command: Direct) -> None:
        args = command.args
        match command.name:
            case "mirroring_add":
                self._mirrors[int(args[0])] = (int(args[1]), None)
            case "mirroring_add_mc":
                self._mirrors[int(args[0])] = (None, int(args[1]))
            case "mirroring_delete":
                self._mirrors.pop(int(args[0]), None)
                self.switch.set_clone_session(int(args[0]), None)
            case "mc_mgrp_create":
                self._groups[int(args[0])] = []
            case "mc_node_create":
                self._nodes.append([Replica(int(port), int(args[0])) for port in args[1:]])
            case "mc_node_associate":
                self._groups[int(args[0])].append(int(args[1]))
            case "register_write":
                register = by_name(self.info.registers, args[0])
                self.switch.set_register(register.preamble.id, int(args[1]), number(args[2]))
            case "register_reset":
                register = by_name(self.info.registers, args[0])
                for index in range(register.size):
                    self.switch.set_register(register.preamble.id, index, 0)
            case "meter_set_rates":
                self._meter(args[0], [int(args[1])], args[2:])
            case "meter_array_set_rates":
                meter = by_name(self.info.meters, args[0])
                self._meter(args[0], range(meter.size), args[1:])
        self._replicate()

    def _meter(self, name: str, indices: Iterable[int], rates: tuple[str, ...]) -> None:
        """BMv2 takes rates per µs, as rate:burst, committed first."""
        meter = by_name(self.info.meters, name)
        (cir, cburst), (pir, pburst) = (rate.split(":") for rate in rates)
        config = MeterConfig(int(float(cir) * 1e6), int(cburst), int(float(pir) * 1e6), int(pburst))
        for index in indices:
            self.switch.set_meter(meter.preamble.id, index, config)

    def _replicate(self) -> None:
        copies = {
            group: [r for node in nodes for r in self._nodes[node]] for group, nodes in self._groups.items()
        }
        for group, replicas in copies.items():
            self.switch.set_multicast_group(group, replicas)
        for session, (port, mirrored) in self._mirrors.items():
            replicas = [Replica(port or 0, 0)] if mirrored is None else copies.get(mirrored, [])
            self.switch.set_clone_session(session, replicas)
