"""The binary32 adder against numpy, bit for bit; a NaN result is the canonical quiet NaN."""

import ctypes
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from olafctl import paths
from olafctl.queue.verilate import verilog_sources
from olafswitch.simulation.verilate import build_bench

Words = npt.NDArray[np.uint32]

PAIRS = 10_000_000
CHUNK = 500_000
CORNERS = np.array(
    [
        *(0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x003FFFFF, 0x00400000, 0x007FFFFE, 0x007FFFFF),
        *(0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x01000001, 0x0C000000, 0x0C7FFFFF, 0x0C800001),
        *(0x33000000, 0x33000001, 0x337FFFFF, 0x33800000, 0x33800001, 0x34000000, 0x3EFFFFFF, 0x3F000000),
        *(0x3F7FFFFE, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F800002, 0x3F800003, 0x3FFFFFFF, 0x40000000),
        *(0x40000001, 0x4B000000, 0x4B000001, 0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x4C000000, 0x72FFFFFF),
        *(0x73000000, 0x73000001, 0x73800000, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F000001, 0x7F7FFFFE),
        *(0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FC00001, 0x7FFFFFFF),
    ],
    dtype=np.uint32,
)


def verilated_add(latency: int, left: Words, right: Words, copy: bool = False) -> Words:
    hdl = paths.sources() / "hdl"
    library = build_bench(
        *("olaf_fp32_add", [hdl / "olaf_fp32_add.v"], {"LATENCY": latency}),
        folders=[hdl],
        sources=verilog_sources(),
        native=[Path(__file__).with_name("adder.cpp")],
    )
    function = ctypes.CDLL(str(library)).olaf_add
    pointer = ctypes.POINTER(ctypes.c_uint32)
    function.argtypes = [pointer, pointer, pointer, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int]
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    sums = np.empty_like(left)
    function(*(array.ctypes.data_as(pointer) for array in (left, right, sums)), len(left), latency, copy)
    return sums


def numpy_add(left: Words, right: Words) -> Words:
    with np.errstate(all="ignore"):
        total = left.view(np.float32) + right.view(np.float32)
    return np.where(np.isnan(total), np.uint32(0x7FC00000), total.view(np.uint32))


def random_pairs(seed: int, count: int) -> tuple[Words, Words]:
    """Return random pairs: half of any bits, half with exponents so near that rounding decides."""
    pick = np.random.default_rng(seed)
    left, right = (pick.integers(0, 1 << 32, count, dtype=np.uint32) for _ in range(2))
    near = (left >> 23 & 0xFF).astype(np.int64) + pick.integers(-27, 28, count)
    exponent = np.clip(near, 0, 254).astype(np.uint32) << 23
    right[::2] = (right[::2] & np.uint32(0x807FFFFF)) | exponent[::2]
    few = pick.integers(0, 1 << 32, count, dtype=np.uint32) & 0xFF000000
    right[::8] &= ~np.uint32(0x007FFFFF) | (few[::8] >> 9)
    return left, right


@pytest.mark.parametrize("latency", [3, 4, 5, 6])
def test_all_pairs_of_corners(latency: int) -> None:
    corners = np.concatenate([CORNERS, CORNERS | np.uint32(0x80000000)])
    left, right = (grid.ravel() for grid in np.meshgrid(corners, corners))
    assert len(left) == (2 * len(CORNERS)) ** 2
    np.testing.assert_array_equal(verilated_add(latency, left, right), numpy_add(left, right))


def test_random_pairs() -> None:
    compared = 0
    while compared < PAIRS:
        left, right = random_pairs(compared, min(CHUNK, PAIRS - compared))
        np.testing.assert_array_equal(verilated_add(4, left, right), numpy_add(left, right))
        compared += len(left)
    assert compared == PAIRS


@pytest.mark.parametrize("latency", [3, 4, 5, 6])
def test_copies_every_word_bit_for_bit(latency: int) -> None:
    words = np.concatenate([CORNERS, CORNERS | np.uint32(0x80000000), random_pairs(1, 100_000)[0]])
    nothing = np.full_like(words, 0x80000000)
    np.testing.assert_array_equal(verilated_add(latency, words, nothing, copy=True), words)
    np.testing.assert_array_equal(verilated_add(latency, nothing, words, copy=True), words)
