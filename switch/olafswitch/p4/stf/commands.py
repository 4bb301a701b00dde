"""STF, the P4 community's language for test packets and expected results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

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
    """A line that is not STF, or names an object that the program does not have."""


_PORT_BITS = 9
_MARK = re.compile(r"&&&|->|\.\.|[=!<>]=|[:,()/=<>]")
_TOKEN = re.compile(
    rf"""\s+|\#.*|(?P<word>(?:"[^"]+"|[\w$*\[\]]|-(?!>)|\.(?!\.))+)|(?P<mark>{_MARK.pattern})"""
)
_CONDITIONS = ("==", "!=", "<=", "<", ">=", ">")
_DIRECT = {
    "mirroring_add": 2, "mirroring_add_mc": 2, "mirroring_delete": 1, "mirroring_get": 1, "mc_mgrp_create": 1,
    "mc_node_create": 1, "mc_node_update": 1, "mc_node_associate": 2, "counter_read": 2, "counter_write": 4,
    "register_read": 1, "register_write": 3, "register_reset": 1, "meter_get_rates": 2, "meter_set_rates": 4,
    "meter_array_set_rates": 3,
}  # fmt: skip
"""BMv2's verbs that p4c's runner passes on, and the number of arguments of each."""


def read_commands(text: str) -> list[tuple[int, Command]]:
    """Return the commands in order, each with its line number.

    Raises Unreadable at a line that is not a command.
    """
    commands = []
    for number, raw in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(\w*)(.*)", raw)
        if found and raw.strip() and not raw.lstrip().startswith("#"):
            try:
                command = _parse_line(found[1].lower(), found[2])
            except ValueError as error:
                raise Unreadable(f"line {number}: {raw.strip()}: {error}") from None
            if command is not None:
                commands.append((number, command))
    return commands


def parse_number(text: str) -> int:
    """Return a number in any base. Raises ValueError for other text, and for ``*`` digits."""
    if "*" in text:
        raise ValueError(f"{text}: * can stand in ternary, lpm and optional keys only")
    clean = text.replace("_", "")
    try:
        return int(clean, 10 if re.fullmatch(r"0\d+", clean) else 0)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _parse_line(verb: str, rest: str) -> Command | None:
    match verb:
        case "packet":
            port, digits = _parse_frame(rest)
            return Send(port, bytes.fromhex(digits))
        case "expect":
            port, digits = _parse_frame(rest)
            if not re.fullmatch(r"[0-9a-f*]*\$?", digits):
                raise ValueError(f"{digits} is no frame: hex digits, * and a $ at the end")
            return Expect(port, digits.rstrip("$") if digits else None, digits.endswith("$"))
        case "wait" | "no_packet":
            return None
    words = _Words(rest)
    command = _parse_words(verb, words)
    if words.left:
        raise ValueError(f"{' '.join(words.left)} is too much")
    return command


def _parse_words(verb: str, words: "_Words") -> Command:
    match verb:
        case "add":
            return _parse_add(words)
        case "setdefault":
            return SetDefault(words.take(), *_parse_call(words))
        case "remove" if words.left and words.take().lower() == "all":
            return RemoveAll()
        case "check_counter":
            return _parse_counter(words)
    if verb in _DIRECT:
        args = []
        while words.left:
            args.append(words.take_joined(":"))
        if len(args) < _DIRECT[verb]:
            raise ValueError(f"{verb} needs {_DIRECT[verb]} arguments")
        return BMv2Command(verb, tuple(args))
    raise ValueError(f"{verb} is not known")


def _parse_frame(rest: str) -> tuple[int, str]:
    """Return the port and the digits after it."""
    port, *digits = rest.partition("#")[0].split() or [""]
    check_width(parse_number(port), _PORT_BITS, "port")
    return parse_number(port), "".join(digits).lower()


class _Words:
    """The words and marks of a line from left to right; quoted text is a name."""

    def __init__(self, text: str) -> None:
        self.left: list[str] = []
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise ValueError("a name's \" is missing" if text[at] == '"' else f"{text[at]} is not known")
            if token.lastgroup:
                self.left.append(token[0])
            at = token.end()

    def next_is(self, *marks: str, behind: int = 0) -> bool:
        return self.left[behind : behind + 1] in [[mark] for mark in marks]

    def take(self) -> str:
        """Take a name or a number."""
        if not self.left or _MARK.fullmatch(self.left[0]):
            self._miss("a name or a number")
        return self.left.pop(0).replace('"', "")

    def take_joined(self, *marks: str) -> str:
        """Take a word, with the words that such marks join to it."""
        word = self.take()
        while self.next_is(*marks):
            word += self.left.pop(0) + self.take()
        return word

    def take_mark(self, *marks: str) -> str:
        if not self.next_is(*marks):
            self._miss(" or ".join(marks))
        return self.left.pop(0)

    def _miss(self, what: str) -> NoReturn:
        raise ValueError(f"{what} is missing" + (f" before {self.left[0]}" if self.left else ""))

    def take_pair(self) -> tuple[str, str]:
        name = self.take()
        self.take_mark(":")
        return name, self.take_joined("/", "&&&", "->", "..")


def _parse_call(words: _Words) -> tuple[str, Pairs]:
    action, args = words.take(), []
    words.take_mark("(")
    while not words.next_is(")"):
        args.append(words.take_pair())
        if not words.next_is(")"):
            words.take_mark(",")
    words.take_mark(")")
    return action, _check_names(args)


def _check_names(pairs: Sequence[tuple[str, str]]) -> Pairs:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is given twice")
    return tuple(pairs)


def _parse_add(words: _Words) -> Add:
    table, keys = words.take(), []
    priority = None if words.next_is(":", "(", behind=1) else parse_number(words.take())
    check_width(priority or 0, 31, "priority")
    while words.next_is(":", behind=1):
        keys.append(words.take_pair())
    call = _parse_call(words)
    if words.next_is("="):
        words.take_mark("=")
        return Add(table, priority, _check_names(keys), *call, words.take())
    return Add(table, priority, _check_names(keys), *call)


def _parse_counter(words: _Words) -> CheckCounter:
    counter = words.take()
    words.take_mark("(")
    index = words.take()
    words.take_mark(")")
    if not words.left:
        return CheckCounter(counter, index, "packets", "==", 0)
    unit = words.take().lower()
    if unit not in ("packets", "bytes"):
        raise ValueError(f"{unit} is neither packets nor bytes")
    return CheckCounter(counter, index, unit, words.take_mark(*_CONDITIONS), parse_number(words.take()))
