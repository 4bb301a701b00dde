"""STF, the P4 community's language for test packets and expected results."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Send:
    port: int
    frame: bytes


@dataclass(frozen=True)
class Expect:
    """A frame at a port: hex digits with ``*`` for any; None accepts any frames. Inexact is a prefix."""

    port: int
    digits: str | None
    exact: bool


@dataclass(frozen=True)
class Add:
    table: str
    priority: int | None
    keys: tuple[tuple[str, str], ...]
    action: str
    args: tuple[tuple[str, str], ...]
    label: str = ""
    """The entry's name in later commands."""


@dataclass(frozen=True)
class SetDefault:
    table: str
    action: str
    args: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CheckCounter:
    counter: str
    index: str
    """A number, or ``$`` and an entry's label."""
    unit: str
    condition: str
    value: int


@dataclass(frozen=True)
class Direct:
    """A command of BMv2's own command line, such as ``mc_mgrp_create 1``."""

    name: str
    args: tuple[str, ...]


Command = Send | Expect | Add | SetDefault | CheckCounter | Direct


class Unreadable(Exception):
    """A line that is not STF, or a command that is not supported."""


_ACTION = re.compile(r"\s*([\w.$\[\]]+)\s*\((.*)\)\s*(?:=\s*(\w+)\s*)?$")
_COUNTER = re.compile(
    r"([\w.$\[\]]+)\s*\(\s*(\$?\w+)\s*\)\s*(?:(packets|bytes)\s*(==|!=|<=|<|>=|>)\s*(\w+))?\s*$"
)
_DIRECT = frozenset([
    "mirroring_add", "mirroring_add_mc", "mirroring_delete", "mirroring_get", "mc_mgrp_create",
    "mc_node_create", "mc_node_associate", "counter_read", "counter_write", "register_read",
    "register_write", "register_reset", "meter_get_rates", "meter_set_rates", "meter_array_set_rates",
])  # fmt: skip


def read(text: str) -> list[Command]:
    """The commands in order.

    Raises Unreadable at a line that is not a command.
    """
    commands = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if line:
            try:
                command = _line(line)
            except (ValueError, IndexError) as error:
                raise Unreadable(f"line {number}: {raw.strip()}: {error}") from None
            if command is not None:
                commands.append(command)
    return commands


def _line(line: str) -> Command | None:
    word, _, rest = line.partition(" ")
    word, rest = word.lower(), rest.strip()
    match word:
        case "packet":
            port, _, digits = rest.partition(" ")
            return Send(int(port), bytes.fromhex("".join(digits.split())))
        case "expect":
            return _expect(rest)
        case "add":
            return _add(rest)
        case "setdefault":
            table, _, call = rest.partition(" ")
            return SetDefault(table, *_call(call)[:2])
        case "check_counter":
            return _counter(rest)
        case "wait" | "no_packet":
            return None
    if word in _DIRECT:
        return Direct(word, tuple(rest.split()))
    raise ValueError(f"{word} is not known")


def _expect(rest: str) -> Expect:
    port, _, digits = rest.partition(" ")
    digits = "".join(digits.split()).lower()
    return Expect(int(port), digits.rstrip("$") or None, digits.endswith("$"))


def _call(text: str) -> tuple[str, tuple[tuple[str, str], ...], str]:
    match = _ACTION.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not an action")
    pairs = [part.split(":", 1) for part in match[2].split(",") if part.strip()]
    return match[1], tuple((name.strip(), value.strip()) for name, value in pairs), match[3] or ""


def _add(rest: str) -> Add:
    head, bracket, tail = rest.partition("(")
    words = head.split()
    action = words.pop()
    table, words = words[0], words[1:]
    priority = int(words.pop(0)) if words and ":" not in words[0] else None
    name, args, label = _call(action + bracket + tail)
    keys = tuple((word.rsplit(":", 1)[0], word.rsplit(":", 1)[1]) for word in words)
    return Add(table, priority, keys, name, args, label)


def _counter(rest: str) -> CheckCounter:
    match = _COUNTER.match(rest)
    if match is None:
        raise ValueError("not a counter's check")
    return CheckCounter(match[1], match[2], match[3] or "packets", match[4] or "==", int(match[5] or "0", 0))
