"""STF's commands applied to a switch: names become ids, texts become matches."""

import re
from collections.abc import Callable
from typing import Protocol, TypeVar

from olafswitch.p4.stf.commands import (
    Add,
    BMv2Command,
    CheckCounter,
    Pairs,
    RemoveAll,
    SetDefault,
    parse_number,
)
from olafswitch.p4runtime.agent.p4data import scalar_type
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    CounterData,
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
    TableFull,
    Ternary,
)
from olafswitch.p4runtime.messages import check_match, check_params, check_width, find_action
from olafswitch.p4runtime.program import Array, MatchField, MatchKind, ProgramInfo, TableInfo

_DIGIT_BITS = {"0x": 4, "0b": 1, "0o": 3}
_T = TypeVar("_T")


class StfSwitch(ForwardingPlane, Protocol):
    """A running v1model program."""

    def process(self, port: int, frame: bytes, now_ns: int) -> list[tuple[int, bytes]]:
        """Process one frame and return the port and frame of each that leaves."""


class Control:
    """An interpreter of an STF file's commands on one switch."""

    def __init__(self, switch: StfSwitch, info: P4Info) -> None:
        self.switch = switch
        self.info = ProgramInfo(info)
        self._entries: dict[tuple[int, Key, int], str] = {}
        """The entries that the file added, with their labels."""
        self._nodes: list[list[Replica]] = []
        self._groups: dict[int, list[int]] = {}
        self._mirrors: dict[int, tuple[int | None, int | None]] = {}

    def run_statement(self, command: Add | SetDefault | RemoveAll | CheckCounter | BMv2Command) -> str:
        """Run a command and return the difference when it is a check that failed.

        Raises ValueError when it names an object that does not exist, or a value that does not fit.
        """
        match command:
            case Add():
                self._add(command)
            case SetDefault(table=name):
                table = _look_up(self.info.table_named, name)
                self.switch.set_default(table.id, self._action(table, command.action, command.args))
            case RemoveAll():
                for entry in self._entries:
                    self.switch.delete(*entry)
                self._entries.clear()
            case CheckCounter():
                return self._check(command)
            case BMv2Command():
                self._direct(command)
        return ""

    def _action(self, table: TableInfo, name: str, args: Pairs) -> ActionCall:
        action = find_action(table, name)
        values = check_params(action, {param: parse_number(text) for param, text in args})
        return ActionCall(action.id, tuple(values))

    def _add(self, command: Add) -> None:
        table = _look_up(self.info.table_named, command.table)
        absent = [Exact(0) if field.kind is MatchKind.EXACT else None for field in table.fields]
        matches: list[Match] = list(absent)
        for name, text in command.keys:
            at = _find_field(table, name)
            matches[at] = _parse_match(table.fields[at], text)
        entry = (table.id, tuple(matches), command.priority or 0)
        action = self._action(table, command.action, command.args)
        if entry in self._entries:
            raise ValueError(f"table {table.alias} has this entry already")
        try:
            self.switch.insert(*entry, action)
        except TableFull as error:
            raise ValueError(str(error)) from None
        self._entries[entry] = command.label

    def _check(self, command: CheckCounter) -> str:
        if command.index.startswith("$"):
            entries = [entry for entry, label in self._entries.items() if label == command.index[1:]]
            if not entries:
                raise ValueError(f"no entry is named {command.index[1:]}")
            data = self.switch.direct_counter(*entries[0])
        else:
            counter = _look_up(self.info.counter_named, command.counter)
            data = self.switch.counter(counter.id, _find_index(counter, command.index))
        value = data.packets if command.unit == "packets" else data.bytes
        good = {
            "==": value == command.value, "!=": value != command.value, "<": value < command.value,
            "<=": value <= command.value, ">": value > command.value, ">=": value >= command.value,
        }[command.condition]  # fmt: skip
        return "" if good else f"counter {command.counter}({command.index}) is {value} {command.unit}"

    def _direct(self, command: BMv2Command) -> None:
        args = command.args
        match command.name:
            case "mirroring_add" | "mirroring_add_mc" as verb:
                session, to = parse_number(args[0]), parse_number(args[1])
                self._mirrors[session] = (to, None) if verb == "mirroring_add" else (None, to)
            case "mirroring_delete":
                self._mirrors.pop(parse_number(args[0]), None)
                self.switch.set_clone_session(parse_number(args[0]), None)
            case "mc_mgrp_create":
                self._groups.setdefault(parse_number(args[0]), [])
            case "mc_node_create":
                self._nodes.append([Replica(parse_number(port), parse_number(args[0])) for port in args[1:]])
            case "mc_node_update":
                node = self._node(args[0])
                instance = self._nodes[node][0].instance if self._nodes[node] else 0
                self._nodes[node] = [Replica(parse_number(port), instance) for port in args[1:]]
            case "mc_node_associate":
                if parse_number(args[0]) not in self._groups:
                    raise ValueError(f"multicast group {args[0]} does not exist")
                self._groups[parse_number(args[0])].append(self._node(args[1]))
            case "counter_write":
                counter = _look_up(self.info.counter_named, args[0])
                data = CounterData(parse_number(args[2]), parse_number(args[3]))
                self.switch.set_counter(counter.id, _find_index(counter, args[1]), data)
            case "register_write" | "register_reset" as verb:
                register = _look_up(self.info.register_named, args[0])
                value = parse_number(args[2]) if verb == "register_write" else 0
                _, bits, _ = scalar_type(self.info.p4info.type_info, register.type_spec)
                check_width(value, bits, f"a cell of {register.alias}")
                cells = [_find_index(register, args[1])] if verb == "register_write" else range(register.size)
                for index in cells:
                    self.switch.set_register(register.id, index, value)
            case "meter_set_rates":
                self._meter(args[0], args[1:2], args[2:])
            case "meter_array_set_rates":
                self._meter(args[0], (), args[1:])
        self._replicate()

    def _node(self, text: str) -> int:
        if not 0 <= parse_number(text) < len(self._nodes):
            raise ValueError(f"multicast node {text} does not exist")
        return parse_number(text)

    def _meter(self, name: str, index: tuple[str, ...], rates: tuple[str, ...]) -> None:
        """Set a meter's cell, or all: BMv2 takes rates per µs, as rate:burst, committed first."""
        meter = _look_up(self.info.meter_named, name)
        (cir, cburst), (pir, pburst) = (rate.split(":") for rate in rates)
        config = MeterConfig(
            int(float(cir) * 1e6), parse_number(cburst), int(float(pir) * 1e6), parse_number(pburst)
        )
        for at in [_find_index(meter, text) for text in index] or range(meter.size):
            self.switch.set_meter(meter.id, at, config)

    def _replicate(self) -> None:
        copies = {
            group: [r for node in nodes for r in self._nodes[node]] for group, nodes in self._groups.items()
        }
        for group, replicas in copies.items():
            self.switch.set_multicast_group(group, replicas)
        for session, (port, mirrored) in self._mirrors.items():
            replicas = [Replica(port or 0, 0)] if mirrored is None else copies.get(mirrored, [])
            self.switch.set_clone_session(session, replicas)


def _look_up(lookup: Callable[[str], _T], name: str) -> _T:
    try:
        return lookup(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def _find_index(array: Array, text: str) -> int:
    if not 0 <= parse_number(text) < array.size:
        raise ValueError(f"{array.alias} has no cell {text}: its size is {array.size}")
    return parse_number(text)


def _find_field(table: TableInfo, name: str) -> int:
    wanted = re.sub(r"\$(\d+)", r"[\1]", name)
    names = [field.name for field in table.fields]
    for tries in (wanted, wanted + ".$valid$", wanted.replace(".valid", ".$valid$")):
        for at, known in enumerate(names):
            if known == tries or known.endswith("." + tries):
                return at
    raise ValueError(f"table {table.alias} has no key {name} (known: {', '.join(names)})")


def _parse_match(field: MatchField, text: str) -> Match:
    """Return the match that ``text`` writes. Raises ValueError where it does not fit the field."""
    match field.kind:
        case MatchKind.EXACT:
            made: Match = Exact(parse_number(text))
        case MatchKind.OPTIONAL:
            made = None if not text.strip("0xXbo*") and "*" in text else Optional(parse_number(text))
        case MatchKind.LPM:
            made = _parse_prefix(field, text)
        case MatchKind.RANGE:
            low, _, high = text.partition("->") if "->" in text else text.partition("..")
            made = Range(parse_number(low), parse_number(high or low))
        case MatchKind.TERNARY:
            value, _, mask = text.partition("&&&")
            if mask:
                check_width(parse_number(value), field.bits, f"key field {field.name}")
                made = Ternary(parse_number(value) & parse_number(mask), parse_number(mask))
            else:
                made = _parse_ternary(field, text)
    return None if made is None else check_match(field, made)


def _parse_digits(text: str) -> tuple[int, int, list[bool]]:
    """Return a literal's value, the bits of a digit, and which digits are given (not ``*``)."""
    bits = _DIGIT_BITS.get(text[:2].lower())
    if bits is None:
        raise ValueError(f"{text}: * needs hex, octal or binary digits")
    digits = text[2:].replace("_", "")
    return parse_number(text.replace("*", "0")), bits, [digit != "*" for digit in digits]


def _parse_prefix(field: MatchField, text: str) -> Match:
    """Return a prefix ``VALUE/LENGTH``; without a length, up to the first ``*``, as p4c's runner reads it."""
    value, slash, length = text.partition("/")
    if slash:
        return Lpm(parse_number(value), parse_number(length))
    if value[:2].lower() not in _DIGIT_BITS and "*" not in value:
        return Lpm(parse_number(value), field.bits)
    low, bits, known = _parse_digits(value)
    if not all(known[: sum(known)]):
        raise ValueError(f"{text}: the * of a prefix come last")
    return Lpm(low, min(bits * sum(known), field.bits))


def _parse_ternary(field: MatchField, text: str) -> Match:
    """Return a literal with ``*`` digits; bits above its digits match any, as in p4c's runner."""
    if text[:2].lower() not in _DIGIT_BITS and "*" not in text:
        return Ternary(parse_number(text), (1 << field.bits) - 1)
    value, bits, known = _parse_digits(text)
    mask = 0
    for given in known:
        mask = mask << bits | (((1 << bits) - 1) if given else 0)
    return Ternary(value, mask & ((1 << field.bits) - 1))
