"""The Olaf header with epoch, 48-bit time, segment and policy, until ``layouts`` has it; then delete this.

Only the SDK's emitter reads it.
"""

from enum import IntEnum

from olafctl.wire.layouts import Field, Layout


class FrameType(IntEnum):
    """The Olaf header's ``frame_type``."""

    UPDATE = 1
    ACK = 2
    CONTROL = 3
    RESULT = 4
    INIT = 5


OLAF = Layout(
    "olaf",
    "The Olaf header, 22 bytes, so that gradients start at byte 64 of the frame",
    (
        Field("version", 4, "1"),
        Field("frame_type", 4, "1 UPDATE, 2 ACK, 3 CONTROL, 4 RESULT, 5 INIT"),
        Field("epoch", 4, "job epoch, given at Join"),
        Field("flags", 4, "bit 0 AGGREGATED, bit 1 STATUS (a status header follows)"),
        Field("count", 16, "worker updates merged into this frame; 1 from a worker"),
        Field("seq", 32, "the newest constituent's sequence number at its worker; the round in iswitch mode"),
        Field("reward", 32, "binary32 mean episode reward; of a merged frame the highest"),
        Field("gen_time", 48, "ns modulo 2^48 when the newest constituent was generated"),
        Field("segment", 16, "which block of the model this frame carries, from 0"),
        Field("policy", 16, "version of the weights the oldest constituent was computed from"),
    ),
)
