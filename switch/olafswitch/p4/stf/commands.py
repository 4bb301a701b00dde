"""STF, the P4 community's language for test packets and expected results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from olafswitch.p4runtime.messages import check_width

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Send:
    port: int
    frame: bytes


@dataclass(frozen=True)
class Expect:
    """A frame at a port: hex digits with ``*`` for any; None is any frame. Inexact is a prefix."""

    port: int
    digits: str | None
    exact: bool


@dataclass(frozen=True)
class Add:
    table: str
    priority: int | None
    keys: Pairs
    action: str
    args: Pairs
    label: str = ""
    """The entry's name in later commands."""


@dataclass(frozen=True)
class SetDefault:
    table: str
    action: str
    args: Pairs


@dataclass(frozen=True)
class RemoveAll:
    """Delete the entries that the file added."""


@dataclass(frozen=True)
class CheckCounter:
    counter: str
    index: str
    """A number, or ``$`` and an entry's label."""
    unit: str
    condition: str
    value: int


@dataclass(frozen=True)
class BMv2Command:
    """A command of BMv2's own command line, such as ``mc_mgrp_create 1``."""

    name: str
    args: tuple[str, ...]


Command = Send | Expect | Add | SetDefault | RemoveAll | CheckCounter | BMv2Command


class Unreadable(Exception):
    """A line that is not STF, or names what the program does not have."""


_PORT_BITS = 9
_SPACED = re.compile(r"\s*(&&&|->|\.\.|[:,()/]|==|!=|<=|>=|<|>|=)\s*")
_ACTION = re.compile(r"([\w.$\[\]]+)\((.*)\)(?:=(\w+))?")
_COUNTER = re.compile(r"([\w.$\[\]]+)\((\$?\w+)\)(?: ?(packets|bytes)(==|!=|<=|<|>=|>)(\w+))?")
_DIRECT = {
    "mirroring_add": 2, "mirroring_add_mc": 2, "mirroring_delete": 1, "mirroring_get": 1, "mc_mgrp_create": 1,
    "mc_node_create": 1, "mc_node_update": 1, "mc_node_associate": 2, "counter_read": 2, "counter_write": 4,
    "register_read": 1, "register_write": 3, "register_reset": 1, "meter_get_rates": 2, "meter_set_rates": 4,
    "meter_array_set_rates": 3,
}  # fmt: skip
"""BMv2's verbs that p4c's runner passes on, and how many arguments each needs."""


def read_commands(text: str) -> list[tuple[int, Command]]:
    """Return the commands in order, each with its line number.

    Raises Unreadable at a line that is not a command.
    """
    commands = []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#", 1)[0].split(None, 1)
        if words:
            try:
                command = _parse_line(words[0].lower(), words[1] if len(words) > 1 else "")
            except (ValueError, IndexError) as error:
                raise Unreadable(f"line {number}: {raw.strip()}: {error}") from None
            if command is not None:
                commands.append((number, command))
    return commands


def parse_number(text: str) -> int:
    """Return a number in any base. Raises ValueError for what is none, or has ``*`` digits."""
    if "*" in text:
        raise ValueError(f"{text}: * can stand in ternary, lpm and optional keys only")
    clean = text.replace("_", "")
    try:
        return int(clean, 10 if re.fullmatch(r"0\d+", clean) else 0)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _parse_line(word: str, rest: str) -> Command | None:
    match word:
        case "packet":
            port, digits = _parse_port(rest)
            return Send(port, bytes.fromhex(digits))
        case "expect":
            port, digits = _parse_port(rest)
            if not re.fullmatch(r"[0-9a-f*]*\$?", digits):
                raise ValueError(f"{digits} is no frame: hex digits, * and a $ at the end")
            return Expect(port, digits.rstrip("$") if digits else None, digits.endswith("$"))
        case "wait" | "no_packet":
            return None
    if rest.count('"') % 2:
        raise ValueError("a name's \" is missing")
    rest = _SPACED.sub(r"\1", rest.replace('"', "").strip())
    match word:
        case "add":
            return _parse_add(rest)
        case "setdefault":
            table, call = rest.split(None, 1)
            return SetDefault(table, *_parse_call(call)[:2])
        case "remove" if rest.lower() == "all":
            return RemoveAll()
        case "check_counter":
            return _parse_counter(rest)
    if word in _DIRECT:
        if len(rest.split()) < _DIRECT[word]:
            raise ValueError(f"{word} needs {_DIRECT[word]} arguments")
        return BMv2Command(word, tuple(rest.split()))
    raise ValueError(f"{word} is not known")


def _parse_port(rest: str) -> tuple[int, str]:
    """Return the port and the digits behind it."""
    port, *digits = rest.split()
    check_width(parse_number(port), _PORT_BITS, "port")
    return parse_number(port), "".join(digits).lower()


def _parse_call(text: str) -> tuple[str, Pairs, str]:
    match = _ACTION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an action")
    return match[1], _parse_pairs([part for part in match[2].split(",") if part]), match[3] or ""


def _parse_pairs(words: Sequence[str]) -> Pairs:
    made = []
    for word in words:
        name, colon, value = word.rpartition(":")
        if not colon or not value:
            raise ValueError(f"{word!r} is not NAME:VALUE")
        made.append((name, value))
    if len(dict(made)) != len(made):
        raise ValueError("a name is given twice")
    return tuple(made)


def _parse_add(rest: str) -> Add:
    head, bracket, tail = rest.partition("(")
    table, *words, action = head.split()
    priority = parse_number(words.pop(0)) if words and ":" not in words[0] else None
    check_width(priority or 0, 31, "priority")
    name, args, label = _parse_call(action + bracket + tail)
    return Add(table, priority, _parse_pairs(words), name, args, label)


def _parse_counter(rest: str) -> CheckCounter:
    match = _COUNTER.fullmatch(rest)
    if match is None:
        raise ValueError("not a counter's check")
    return CheckCounter(
        match[1], match[2], match[3] or "packets", match[4] or "==", parse_number(match[5] or "0")
    )
