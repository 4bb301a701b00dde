"""Weights on their way down to players, defined once: an ACK with the flag DELTA, and the players' answers.

A DELTA frame is an Olaf header, the engine's status header, ``DELTA`` and a payload that decodes alone. To
the engine it is an ACK, which it copies to the whole cluster; a copy for one player alone has frame type
INIT, which the engine forwards. In the Olaf header ``seq`` is the frame's number in its issue, from 0,
``segment`` the shard, ``weights_version`` the newest version that was published when the frame was sent,
modulo 2^16, and ``gen_time`` when the frame's own version was published.

A parity frame repairs any one frame of its block, which all have one codec and width: ``seq`` is the block's
first frame, and ``first``, ``n`` and the payload are the XOR of the frames'.
"""

from enum import IntEnum

from olafctl.wire.layouts import HeaderLayout, LayoutField

Codec = IntEnum("Codec", "ULP SET FULL ALL MANIFEST PARITY DEFLATED ZSTD")
Codec.__doc__ = "How a DELTA frame's payload says what it changes."

PARITY_FRAMES = 64
"""The frames of a block that one parity frame covers; blocks begin at its multiples, without the manifest."""
WANT_ACTION = 15
"""The first byte of a player's message; control messages and replicas have the others below 16."""

_LINE = LayoutField(
    "line", 32, "the publisher's run: its wall time in 0.1 s when it began; the later one counts"
)

DELTA = HeaderLayout(
    "delta",
    "After the headers of an ACK with the flag DELTA: a part of one issue, which leads from base to version",
    (
        _LINE,
        LayoutField("version", 32, "of the weights that the issue leads to, from 1"),
        LayoutField("base", 32, "version that it begins at; 0: at any, all elements are in it"),
        LayoutField("frames", 32, "in this issue of this shard; the last one is the manifest"),
        LayoutField("first", 64, "number of the payload's first element, among the shard's of this width"),
        LayoutField("codec", 8, "1 ulp, 2 set, 3 full, 4 all, 5 manifest, 6 parity, 7 deflated, 8 zstd"),
        LayoutField("width", 8, "bytes of an element"),
        LayoutField("n", 16, "elements in the payload; 0: it is a piece of a stream, as is ``first``"),
        LayoutField(
            "crc", 32, "CRC-32 of the Olaf header from byte 4 on, this header before it, and the payload"
        ),
    ),
)

MANIFEST = HeaderLayout(
    "manifest",
    "The payload of an issue's last frame, which is repeated while nothing else is sent; after it come the "
    "number of tensors (4 bytes) and for each group of neighbours, 64 at most, a byte of their BLAKE2b",
    (
        LayoutField(
            "digest", 64, "of the shard's elements at this version: a sum over them, so in any order"
        ),
        LayoutField(
            "layout", 128, "BLAKE2b of the tensors' names, types and shapes; tied ones under one name"
        ),
        LayoutField("shards", 16, "that a version has"),
        LayoutField(
            "mac",
            128,
            "HMAC-SHA256 under the cluster's key, first 16 bytes, of the epoch (1 byte), the Olaf header "
            "from byte 4 on, the delta header without its crc, and the bytes before it; zero without a key",
        ),
    ),
)

WANT = HeaderLayout(
    "want",
    "How a player stands, once a second and when frames are missing; `count` ranges of them follow",
    (
        LayoutField("action", 8, "15"),
        LayoutField("decodes", 8, "codecs from 8 on that the player has, a bit each: 1 zstd"),
        LayoutField("count", 16, "ranges that follow; 0: nothing is missing"),
        _LINE,
        LayoutField("have", 32, "version that was checked last; 0: none"),
        LayoutField("adopted", 32, "version that is played"),
        LayoutField("version", 32, "of the issue whose frames are missing, or the newest that it heard of"),
        LayoutField("base", 32, "of that issue; the same as version: whatever leads on from have is missing"),
        LayoutField("got", 32, "frames that arrived since the last message"),
        LayoutField("lost", 32, "frames that were missed since then"),
        LayoutField("mac", 128, "as of a control message, over the bytes before it and the ranges"),
    ),
)

RANGE = HeaderLayout(
    "range",
    "Neighbouring frames that are missing",
    (LayoutField("first", 32, "the first one's number"), LayoutField("count", 32, "how many")),
)

ALL = (DELTA, MANIFEST, WANT, RANGE)
