"""Measure what codecs cost after a training step, beside XOR with zstd, and indices with values."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from olaf.transport.wire import Codec
from olaf.weights import codecs, streams
from olaf.weights.choice import encode_block
from olaf.weights.codecs import Bits, Digest, Part

RATES = (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
XOR, INDEX = "XOR, zstd-1", "index, value"
_ROOM = 1356
_BLOCK = 1 << 18
_RUNS = 5
T = TypeVar("T")


@dataclass(frozen=True)
class CodecCost:
    """Holds what one codec costs after a step at one learning rate."""

    rate: float
    share: float
    """Share of the elements that the step changed."""
    codec: str
    bytes_each: float
    """Per changed element."""
    encode: float
    """GB of bf16 a CPU second, the search for changes included."""
    decode: float
    """GB of bf16 a CPU second, applying included; of Olaf's codecs the digest, too."""


def measure_codecs(values: int, seed: int) -> list[CodecCost]:
    """Return the fastest of several runs each; zstd is left out where the library is not installed."""
    random = np.random.default_rng(seed)
    weights = random.normal(0, 0.05, values)
    old = _round_to_bf16(weights)
    costs = []
    for rate in RATES:
        new = _round_to_bf16(weights + rate * random.standard_normal(values))
        ways: dict[str, tuple[Callable[[], list[Any]], Callable[[list[Any], Bits], None]]] = {
            codec.name.lower(): (_encoder(codec, old, new), _decode_parts)
            for codec in (Codec.ULP, Codec.ALL, Codec.DEFLATED, Codec.FULL)
        }
        if streams.HAS_ZSTD:
            ways["zstd"] = (_streamer(old, new), _decode_stream)
            ways[XOR] = (_xor_packer(old, new), _unpack_xors)
        ways[INDEX] = (_lister(old, new), _apply_list)
        for name, (encode, decode) in ways.items():
            costs.append(_measure(rate, name, old, new, encode, decode))
    return costs


def import_zstd() -> Any:
    """Return the library of that name, as others use it; None where it is not installed."""
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard


def _round_to_bf16(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """Return bf16 bits, to the nearest, ties to even."""
    bits = values.astype("<f4").view("<u4")
    rounded: npt.NDArray[np.uint16] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return rounded


def _measure(
    rate: float, name: str, old: Bits, new: Bits, encode: Callable[[], list[Any]],
    decode: Callable[[list[Any], Bits], None],
) -> CodecCost:  # fmt: skip
    digest, state = Digest(), old.copy()
    summed = _summed_seconds(digest, old, new) if name not in (XOR, INDEX) else 0.0
    parts, encoding = _timed(encode)

    def decode_all() -> None:
        decode(parts, state)

    decodings = []
    for _ in range(_RUNS):
        np.copyto(state, old)
        decodings.append(_timed(decode_all, 1)[1])
        assert np.array_equal(state, new)
    changed = int(np.count_nonzero(old != new))
    size = sum(len(part.payload if isinstance(part, Part) else part) for part in parts)
    taken = encoding + summed, min(decodings) + summed
    return CodecCost(
        rate, changed / len(new), name, size / changed, *(new.nbytes / seconds / 1e9 for seconds in taken)
    )


def _summed_seconds(digest: Digest, old: Bits, new: Bits) -> float:
    """Return how long a digest takes to follow the step, as both ends compute it."""
    where = np.flatnonzero(old != new)
    if 2 * len(where) > len(new):
        return _timed(lambda: digest.sum_of(new))[1]
    return _timed(lambda: digest.sum_change(where, old[where], new[where]))[1]


def _blocks(values: int) -> Iterable[slice]:
    return (slice(start, min(start + _BLOCK, values)) for start in range(0, values, _BLOCK))


def _encoder(codec: Codec, old: Bits, new: Bits) -> Callable[[], list[Any]]:
    return lambda: [
        part for b in _blocks(len(new)) for part in encode_block(codec, old[b], new[b], _ROOM, b.start)
    ]


def _decode_parts(parts: list[Part], state: Bits) -> None:
    for part in parts:
        payload = memoryview(part.payload)
        patch = codecs.decode_payload(part.codec, part.first, part.n, 2, payload, len(state))
        state[patch.where] = patch.apply_to(state[patch.where])


def _streamer(old: Bits, new: Bits) -> Callable[[], list[Any]]:
    def encode() -> list[Any]:
        packed = (streams.pack_block(old[block], new[block]) for block in _blocks(len(new)))
        return list(streams.cut_stream(packed, _ROOM))

    return encode


def _decode_stream(parts: list[Part], state: Bits) -> None:
    payloads = [memoryview(part.payload) for part in parts]
    for patch in streams.decode_stream(payloads, 2, len(state)):
        state[patch.where] = patch.apply_to(state[patch.where])


def _xor_packer(old: Bits, new: Bits) -> Callable[[], list[Any]]:
    compress = import_zstd().ZstdCompressor(1).compress
    return lambda: [compress((old[block] ^ new[block]).tobytes()) for block in _blocks(len(new))]


def _unpack_xors(parts: list[bytes], state: Bits) -> None:
    decompress = import_zstd().ZstdDecompressor().decompress
    for block, part in zip(_blocks(len(state)), parts, strict=True):
        state[block] ^= np.frombuffer(decompress(part), "<u2")


def _lister(old: Bits, new: Bits) -> Callable[[], list[Any]]:
    def encode() -> list[Any]:
        where = np.flatnonzero(old != new)
        return [where.astype("<u4").tobytes(), new[where].tobytes()]

    return encode


def _apply_list(parts: list[bytes], state: Bits) -> None:
    state[np.frombuffer(parts[0], "<u4")] = np.frombuffer(parts[1], "<u2")


def _timed(work: Callable[[], T], runs: int = _RUNS) -> tuple[T, float]:
    seconds = []
    for _ in range(runs):
        began = time.process_time()
        result = work()
        seconds.append(time.process_time() - began)
    return result, max(min(seconds), 1e-9)
