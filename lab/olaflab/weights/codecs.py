"""What the codecs cost, in CPU time and bytes, beside XOR with zstd (or zlib) and indices with values."""

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from olaf.weights import codecs
from olaf.weights.codecs import Digest

_ROOM = 8900
T = TypeVar("T")


@dataclass(frozen=True)
class CodecCost:
    """Holds what one codec costs at one share of changed elements."""

    share: float
    codec: str
    bytes_each: float
    """Per changed element."""
    encode: float
    """GB of bf16 a CPU second, the search for changes included."""
    decode: float
    """GB of bf16 a CPU second, with applying and the digest."""


def measure_codecs(values: int, shares: tuple[float, ...], seed: int) -> list[CodecCost]:
    """Measure each codec, by the median of three runs."""
    random = np.random.default_rng(seed)
    old = random.integers(0, 2**16, values, np.uint16)
    costs = []
    for share in shares:
        new = old.copy()
        where = np.flatnonzero(random.random(values) < share)
        new[where] += random.choice(np.array([1, 2**16 - 1], np.uint16), len(where))
        for name in ("ulp", "set", "all"):
            costs.append(_ours(name, share, old, new, len(where)))
        costs.append(_xor(share, old, new, len(where)))
        costs.append(CodecCost(share, "u32 + u16", 6.0, float("nan"), float("nan")))
    return costs


def _xor(share: float, old: codecs.Bits, new: codecs.Bits, changed: int) -> CodecCost:
    library = import_zstd()
    compress = library.ZstdCompressor(1).compress if library else partial(zlib.compress, level=1)
    size, seconds = _timed(lambda: len(compress((old ^ new).tobytes())))
    name = "XOR, zstd-1" if library else "XOR, zlib-1"
    return CodecCost(share, name, size / changed, _rate(old, seconds), float("nan"))


def import_zstd() -> Any:
    """Import the library zstandard; None where it is not installed."""
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard


def _ours(name: str, share: float, old: codecs.Bits, new: codecs.Bits, changed: int) -> CodecCost:
    def encode() -> list[codecs.Part]:
        if name == "all":
            return list(codecs.encode_all(old, new, _ROOM))
        where = np.flatnonzero(old != new)
        if name == "set":
            return list(codecs.encode_set(where, new[where], _ROOM))
        return list(codecs.encode_ulps(where, new[where] - old[where], _ROOM))

    parts, encoding = _timed(encode)
    state, digest = old.copy(), Digest()

    def decode() -> None:
        np.copyto(state, old)
        for part in parts:
            payload = memoryview(part.payload)
            patch = codecs.decode_payload(part.codec, part.first, part.n, old.itemsize, payload, len(old))
            before = state[patch.where].copy()
            after = patch.apply_to(before)
            digest.sum_change(patch.where, before, after)
            state[patch.where] = after

    _, decoding = _timed(decode)
    assert np.array_equal(state, new)
    size = sum(len(part.payload) for part in parts)
    return CodecCost(share, name, size / changed, _rate(old, encoding), _rate(old, decoding))


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    seconds = []
    for _ in range(3):
        began = time.process_time()
        result = work()
        seconds.append(time.process_time() - began)
    return result, sorted(seconds)[1]


def _rate(bits: codecs.Bits, seconds: float) -> float:
    return bits.nbytes / seconds / 1e9
