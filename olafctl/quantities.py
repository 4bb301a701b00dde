"""Convert words to values: whole numbers, rates, durations and addresses as people write them.

Each reader takes the text of a YAML scalar and raises :class:`Unreadable` with the fault and the remedy; the
caller knows the place.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from typing import TypeVar

V = TypeVar("V")
E = TypeVar("E", bound=StrEnum)
Reader = Callable[[str], V]

GREATEST_BINARY32 = 3.4028234663852886e38
_BOUND = "give versions from 0 to 65535, or off"
_SHOWN = 60
"""The characters of a wrong value that a message repeats."""
OFF = frozenset({"", "~", "null", "none", "off", "no", "false", "unlimited"})

_RATES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_DURATIONS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)")
_DIGITS = 24
"""The most digits of a number; no number of a testbed needs more."""
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER = r"([+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?)"
_RATE = re.compile(_NUMBER + r"\s*([kmgt]?)(?:bit/s|(?-i:b)/s|(?-i:b)ps|bit)", re.IGNORECASE)
_DURATION = re.compile(_NUMBER + r"\s*(ns|us|µs|μs|ms|s)", re.IGNORECASE)
_PERCENTAGE = re.compile(_NUMBER + r"\s*%")
_MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_RANGE = re.compile(r"([0-9]{1,6})\s*(?:-|…|\.\.)\s*([0-9]{1,6})")


class Unreadable(Exception):
    """A text that is not a value of this kind: the fault, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def brief(text: str, length: int = _SHOWN) -> str:
    """Return ``text`` for a message's single line: its beginning when it is long."""
    return text if len(text) <= length else f"{text[:length]}…"


def quoted(text: str) -> str:
    """Return ``text`` in quotes for a message's single line, cut when it is long."""
    return repr(brief(text))


def whole(low: int, high: int) -> Reader[int]:
    """Return a reader of a whole number within ``low`` … ``high``, in plain decimal or 0x hexadecimal."""

    def read(text: str) -> int:
        remedy = f"give a number from {low} to {high}"
        # This refuses 010, which is eight to some programs, 1_0, and other scripts' digits.
        if _WHOLE.fullmatch(text) is None:
            raise Unreadable(f"{quoted(text)} is not a whole number", remedy)
        if len(text) > _DIGITS:
            raise Unreadable(f"{quoted(text)} is out of range", remedy)
        value = int(text, 0)
        if not low <= value <= high:
            raise Unreadable(f"{value} is out of range", remedy)
        return value

    return read


def power_of_two(high: int) -> Reader[int]:
    """Return a reader of a power of two up to ``high``."""

    def read(text: str) -> int:
        value = whole(1, high)(text)
        if value & (value - 1):
            below = 1 << (value.bit_length() - 1)
            raise Unreadable(f"{value} is not a power of two", f"give {below} or {below * 2}")
        return value

    return read


def rate(low: int, high: int) -> Reader[int | None]:
    """Return a reader of a rate such as ``40 Gb/s``, in bit/s within ``low`` … ``high``; ``off`` is None."""
    remedy = f"give a rate such as 40 Gb/s, from {low // 10**3} kb/s to {high // 10**9} Gb/s, or off"

    def read(text: str) -> int | None:
        if text.lower() in OFF:
            return None
        match = _RATE.fullmatch(text)
        if match is None:
            raise Unreadable(f"{quoted(text)} is not a rate", remedy)
        value = _scaled(match[1], _RATES[match[2].lower()])
        if not low <= value <= high:
            raise Unreadable(f"{brief(text)} is an impossible rate", remedy)
        return value

    return read


def duration(low: int, high: int) -> Reader[int]:
    """Return a reader of a duration such as ``1 ms``, in ns within ``low`` … ``high``."""
    remedy = f"give a duration such as 1 ms, from {low} ns to {high // 10**8 / 10} s"

    def read(text: str) -> int:
        match = _DURATION.fullmatch(text)
        if match is None:
            raise Unreadable(f"{quoted(text)} is not a duration", remedy)
        value = _scaled(match[1], _DURATIONS[match[2].lower()])
        if not low <= value <= high:
            raise Unreadable(f"{brief(text)} is out of range", remedy)
        return value

    return read


def percentage(text: str) -> float:
    """Return ``1 %`` as a fraction, 0 … 1. Raises Unreadable."""
    remedy = "give a percentage from 0 % to 100 %, such as 0.1 %"
    match = _PERCENTAGE.fullmatch(text)
    if match is None:
        raise Unreadable(f"{quoted(text)} is not a percentage", remedy)
    value = float(match[1]) / 100
    if not 0 <= value <= 1:
        raise Unreadable(f"{brief(text)} is out of range", remedy)
    return value


def threshold(text: str) -> float | None:
    """Return a number of at least 0 that a binary32 can hold; ``off`` is None. Raises Unreadable."""
    remedy = "give a number of at least 0, or off"
    if text.lower() in OFF:
        return None
    if _FLOAT.fullmatch(text) is None:
        raise Unreadable(f"{quoted(text)} is not a number", remedy)
    value = float(text)
    if not 0 <= value <= GREATEST_BINARY32:
        raise Unreadable(f"{brief(text)} is out of range", remedy)
    return value


def bound(text: str) -> int | None:
    """Return a staleness in versions, 0 … 65535; ``off`` is None. Raises Unreadable."""
    if text.lower() in OFF:
        return None
    if not text.isascii() or not text.isdigit():
        raise Unreadable(f"{quoted(text)} is not a number of versions", _BOUND)
    if len(text) > 5 or int(text) > 65535:
        raise Unreadable(f"{brief(text)} is out of range", _BOUND)
    return int(text)


def root(text: str) -> float | None:
    """Return v of weights δ^(-1/v), at least 1; ``off`` is None. Raises Unreadable."""
    remedy = "give a number from 1 to 1000, such as 3 for δ^(-1/3), or off"
    if text.lower() in OFF:
        return None
    if _FLOAT.fullmatch(text) is None:
        raise Unreadable(f"{quoted(text)} is not a number", remedy)
    if not 1 <= float(text) <= 1000:
        raise Unreadable(f"{brief(text)} is out of range", remedy)
    return float(text)


def choice(kind: type[E], *but: E) -> Reader[E]:
    """Return a reader of an enumeration's values without those in ``but``."""
    known = [member.value for member in kind if member not in but]

    def read(text: str) -> E:
        if text.lower() in known:
            return kind(text.lower())
        raise Unreadable(f"{quoted(text)} is not one of {', '.join(known)}", _nearest(text, known))

    return read


def one_of(known: list[str]) -> Reader[str]:
    """Return a reader of one of the ``known`` words."""

    def read(text: str) -> str:
        if text not in known:
            raise Unreadable(f"{quoted(text)} is not one of {', '.join(known)}", _nearest(text, known))
        return text

    return read


def name(text: str) -> str:
    """Return a name of up to 40 letters, digits, dots, dashes and underscores. Raises Unreadable."""
    if _NAME.fullmatch(text) is None:
        raise Unreadable(
            f"{quoted(text)} is not a name",
            "use up to 40 letters, digits, '.', '-' and '_', beginning with a letter or digit",
        )
    return text


def mac(text: str) -> str:
    """Return a unicast MAC address, in lower case with colons. Raises Unreadable."""
    if _MAC.fullmatch(text) is None:
        raise Unreadable(f"{quoted(text)} is not a MAC address", "write six bytes such as 02:00:0a:00:00:01")
    value = text.lower().replace("-", ":")
    if value == "00:00:00:00:00:00":
        raise Unreadable("the MAC address is all zeros", "give the host's own address, or leave mac out")
    if int(value[:2], 16) & 1:
        raise Unreadable(f"{value} is a multicast address", "a host's MAC has an even first byte, such as 02")
    return value


def ipv4(text: str) -> IPv4Address:
    """Return a unicast IPv4 address that a host can have. Raises Unreadable."""
    try:
        value = IPv4Address(text)
    except AddressValueError:
        raise Unreadable(f"{quoted(text)} is not an IPv4 address", "write it as 10.0.0.1") from None
    if not is_host(value):
        raise Unreadable(f"{value} is not a host address", "give a unicast address such as 10.0.0.1")
    return value


def is_host(address: IPv4Address) -> bool:
    """Return whether a host on a wire can have ``address``."""
    special = address.is_multicast or address.is_unspecified or address.is_loopback
    return not special and int(address) != 0xFFFFFFFF


def network(text: str) -> IPv4Network:
    """Return an IPv4 prefix without host bits. Raises Unreadable."""
    try:
        return IPv4Network(text)
    except (AddressValueError, NetmaskValueError):
        raise Unreadable(f"{quoted(text)} is not an IPv4 prefix", "write it as 10.0.0.0/8") from None
    except ValueError:
        inside = IPv4Network(text, strict=False)
        raise Unreadable(f"{text} has bits set after its prefix", f"write {inside}") from None


def span(text: str, low: int, high: int) -> range:
    """Return ``4`` or ``2-9`` as a range with both ends, within ``low`` … ``high``. Raises Unreadable."""
    match = _RANGE.fullmatch(text)
    bounds = (match[1], match[2]) if match else (text, text)
    first, last = (whole(low, high)(bound) for bound in bounds)
    if last < first:
        raise Unreadable(f"{text} ends before it begins", f"write {last}-{first}")
    return range(first, last + 1)


def _scaled(number: str, unit: int) -> int:
    try:
        return round(float(number) * unit)
    except OverflowError:
        return -1


def _nearest(text: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text.lower(), known, 1)
    return f"did you mean {near[0]}?" if near else f"use {known[0]}"
