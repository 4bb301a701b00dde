"""Operators at widths that take one, two and many machine words, against Python's integers."""

import random
from pathlib import Path

import pytest

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch

PROGRAM = Path(__file__).parent / "programs" / "arithmetic.p4"


def _sign_value(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _compute_expected(a: int, b: int, n: int, width: int, room: int) -> list[int]:
    full, x, y = (1 << width) - 1, _sign_value(a, width), _sign_value(b, width)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    middle = full >> 2
    return [
        (a + b) & full, (a - b) & full, (a * b) & full, a & b, a | b, a ^ b, ~a & full, -a & full,
        (a << n) & full, a >> n, (x >> n) & full, min(a + b, full), max(a - b, 0),
        max(low, min(high, x + y)) & full, max(low, min(high, x - y)) & full,
        a >> 1 & middle, (a << 3 & full) | (b & 7), x & ((1 << room) - 1),
        (a & ~(middle << 1)) | (b & middle) << 1,
    ]  # fmt: skip


def _compare_orders(a: int, b: int, width: int) -> int:
    x, y = _sign_value(a, width), _sign_value(b, width)
    tests = (a < b, a <= b, x < y, x <= y, a == b, x > y, a >= b)
    return sum(1 << at for at, true in enumerate(tests) if true)


def _pick_values(random_: random.Random, width: int) -> int:
    edges = (0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1)
    return random_.choice((*edges, random_.getrandbits(width), random_.getrandbits(width)))


@pytest.mark.parametrize("width", [8, 13, 32, 33, 63, 64, 65, 100, 128, 129, 200])
def test_operators(width: int) -> None:
    program = compile_program(PROGRAM, defines={"W": str(width)}, optimize="-O1")
    switch = NativeSwitch(optimize="-O1")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    random_ = random.Random(width)
    size = (width + 7) // 8
    for _ in range(300):
        a, b = _pick_values(random_, width), _pick_values(random_, width)
        n = random_.choice((0, 1, width - 1, width, 255, random_.randrange(256)))
        frame = a.to_bytes(size, "big") + b.to_bytes(size, "big") + bytes([n])
        ((_, sent),) = switch.process(0, frame)
        results = [int.from_bytes(sent[size * k : size * (k + 1)], "big") for k in range(19)]
        assert results == _compute_expected(a, b, n, width, 8 * size), (a, b, n)
        assert sent[-1] == _compare_orders(a, b, width), (a, b)
    switch.close()
