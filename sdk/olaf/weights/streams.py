"""Codec zstd: the steps of blocks as one stream, which is cut into frames that decode together.

A block is how many elements and bytes it has, and zstd's frame of them: a byte for each element's step, then
the elements that moved by more. The library is an option (``olaf[zstd]``); players say whether they have it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from olaf.transport.wire import Codec
from olaf.weights import codecs
from olaf.weights.codecs import BadFrame, Bits, Part, Patch

try:
    import zstandard
except ImportError:
    HAS_ZSTD = False
else:
    HAS_ZSTD = True

DECODES = int(HAS_ZSTD)
"""Codecs from zstd on that this machine decodes, a bit each, as players tell them."""
_LEVEL = 1
_HEAD = struct.Struct("<II")


def pack_block(old: Bits, new: Bits) -> bytes:
    """Encode a block of neighbouring elements."""
    short, far = codecs.short_steps(old, new)
    packed: bytes = zstandard.ZstdCompressor(_LEVEL).compress(short.tobytes() + new[far].tobytes())
    return _HEAD.pack(len(new), len(packed)) + packed


def cut_stream(blocks: Iterable[bytes], room: int) -> Iterator[Part]:
    """Cut the blocks of a width, in their order, into payloads of ``room`` bytes; the last has the rest."""
    rest = bytearray()
    for block in blocks:
        rest += block
        while len(rest) >= room:
            yield Part(Codec.ZSTD, 0, 0, bytes(rest[:room]))
            del rest[:room]
    if rest:
        yield Part(Codec.ZSTD, 0, 0, bytes(rest))


def decode_stream(payloads: Iterable[memoryview], width: int, length: int) -> Iterator[Patch]:
    """Yield the patches of all ``length`` elements of a width, from its frames' payloads in their order.

    Raises BadFrame; nothing is believed unchecked.
    """
    stream = memoryview(b"".join(payloads))
    first = at = 0
    while first < length:
        if at + _HEAD.size > len(stream):
            raise BadFrame(f"a stream ends at element {first} of {length}")
        count, size = _HEAD.unpack_from(stream, at)
        at += _HEAD.size
        if not 0 < count <= length - first or at + size > len(stream):
            raise BadFrame(f"a block of a stream does not fit at element {first}")
        steps = _unpacked(stream[at : at + size], count, width)
        yield codecs.decode_steps(first, count, width, steps)
        first, at = first + count, at + size


def _unpacked(packed: memoryview, count: int, width: int) -> memoryview:
    """Return what a block holds, which says how large that is. Raises BadFrame."""
    try:
        if not count <= zstandard.frame_content_size(packed) <= count * (1 + width):
            raise BadFrame(f"a block of a stream does not hold {count} steps")
        return memoryview(zstandard.ZstdDecompressor().decompress(packed))
    except zstandard.ZstdError as error:
        raise BadFrame(f"a block of a stream is damaged: {error}") from None
