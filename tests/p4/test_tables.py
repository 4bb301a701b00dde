"""Tables against a plain model of them, through inserts, modifications and deletions at random."""

import random
from collections.abc import Callable

import pytest

from olafswitch.p4runtime.dataplane import Exact, Key, Lpm, Match, Optional, Range, Ternary
from tests.p4.switches import Device


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("tables")


def _count_hits(match: Match, value: int) -> bool:
    match match:
        case None:
            return True
        case Exact(wanted) | Optional(wanted):
            return value == wanted
        case Lpm(wanted, length):
            return value >> (16 - length) == wanted >> (16 - length)
        case Ternary(wanted, mask):
            return value & mask == wanted
        case Range(low, high):
            return low <= value <= high


def _exact_match(r: random.Random) -> Key:
    return (Exact(r.randrange(12)), Exact(r.randrange(12)))


def _lpm_match(r: random.Random) -> Key:
    length = r.choice((0, 1, 4, 8, 12, 15, 16))
    value = r.getrandbits(16) >> (16 - length) << (16 - length)
    return (Exact(r.randrange(3)), Lpm(value, length) if length else None)


def _ternary_match(r: random.Random) -> Key:
    mask = r.choice((0xFF00, 0x00FF, 0xFFFF, 0x0F0F))
    length = r.randrange(1, 17)
    prefix = Lpm(r.getrandbits(16) >> (16 - length) << (16 - length), length)
    return (r.choice((None, Ternary(r.getrandbits(16) & mask, mask))), r.choice((None, prefix)))


def _range_match(r: random.Random) -> Key:
    low = r.getrandbits(16)
    bounds = Range(low, min(0xFFFF, low + r.choice((0, 5, 3000, 65535))))
    return (r.choice((None, bounds)), r.choice((None, Optional(r.randrange(12)))))


def _key_length(key: Key) -> int:
    return sum(match.prefix_len for match in key if isinstance(match, Lpm))


CASES = [
    ("exact_", 1, _exact_match, 0x11),
    ("lpm_", 2, _lpm_match, 0),
    ("ternary_", 3, _ternary_match, 0),
    ("range_", 4, _range_match, 0x22),
]


@pytest.mark.parametrize(("name", "which", "make", "miss"), CASES, ids=[case[0] for case in CASES])
def test_against_a_model(
    device: Device, name: str, which: int, make: Callable[[random.Random], Key], miss: int
) -> None:
    r = random.Random(which)
    switch, table = device.switch, device.id("tables", name)
    ordered = name in ("ternary_", "range_")
    model: dict[tuple[Key, int], int] = {}
    for step in range(1500):
        key, priority, value = make(r), 0, r.randrange(256)
        if ordered:
            priority = step + 1 if r.random() < 0.5 else 100_000 - step
        known = (key, priority) in model
        if model and r.random() < 0.4:
            key, priority = r.choice(list(model))
            if r.random() < 0.5:
                switch.delete(table, key, priority)
                del model[key, priority]
            else:
                switch.modify(table, key, priority, device.call("mark", value))
                model[key, priority] = value
        elif not known:
            switch.insert(table, key, priority, device.call("mark", value))
            model[key, priority] = value
        a, b = r.choice(((r.randrange(12), r.randrange(12)), (r.getrandbits(16), r.getrandbits(16))))
        hits = [e for e in model if _count_hits(e[0][0], a) and _count_hits(e[0][1], b)]
        best = (
            max(hits, key=lambda e: (e[1], _key_length(e[0])), default=None)
            if ordered
            else max(hits, key=lambda e: _key_length(e[0]), default=None)
        )
        sent = switch.process(0, bytes([which]) + a.to_bytes(2, "big") + b.to_bytes(2, "big"))
        assert sent[0][1][0] == (model[best] if best else miss), (step, a, b)


def test_thousands_of_entries(device: Device) -> None:
    switch, table = device.switch, device.id("tables", "lpm_")
    keys: list[Key] = [(Exact(0x4000 + n), Lpm(0x1200, 8)) for n in range(500)]
    for n, key in enumerate(keys):
        switch.insert(table, key, 0, device.call("mark", n % 256))
    for n in range(500):
        frame = bytes([2]) + (0x4000 + n).to_bytes(2, "big") + b"\x12\x34"
        assert switch.process(0, frame)[0][1][0] == n % 256
    for key in keys:
        switch.delete(table, key, 0)
