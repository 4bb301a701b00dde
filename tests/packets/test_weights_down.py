"""Weights down: a DELTA frame is an ACK that the engine copies to every member and never reads."""

import numpy as np
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from olafctl.wire.frames import pack_header
from olafctl.wire.layouts import OLAF, STATUS, Flag, FrameType
from olafctl.wire.weights import DELTA, Codec
from tests.packets.frames import ack, gradient, whole
from tests.packets.live import Live

PAYLOAD = bytes(np.random.default_rng(1).integers(0, 256, 1283, dtype=np.uint8))
"""An odd number of random bytes."""


def delta(live: Live, frame_type: FrameType = FrameType.ACK) -> tuple[Packet, bytes]:
    """Return a frame of the parameter server to the first worker, and the bytes after its Olaf header."""
    fields = {"line": 7, "version": 3, "base": 2, "frames": 1, "first": 5, "codec": Codec.ULP, "width": 2}
    body = pack_header(DELTA, {**fields, "n": 40, "crc": 99}) + PAYLOAD
    frame = ack(live, live.cluster(1).workers[0], gradient(0), flags=Flag.DELTA, frame_type=frame_type)
    frame[UDP].payload = Raw(bytes(frame[UDP].payload)[: OLAF.size] + body)
    for layer, field in (("IP", "len"), ("IP", "chksum"), ("UDP", "len")):
        delattr(frame[layer], field)
    return whole(frame), body


def test_a_delta_frame_reaches_every_member_unchanged(live: Live) -> None:
    frame, body = delta(live)
    arrived = live.exchange((live.server, frame))
    copies = [bytes(datagram.payload) for datagram in _datagrams(arrived)]
    assert len(copies) == len(live.cluster(1).workers)
    for copy in copies:
        assert copy[1] & 0xF == Flag.DELTA | Flag.STATUS
        assert copy[2 : OLAF.size] == bytes(frame[UDP].payload)[2 : OLAF.size]
        assert copy[OLAF.size + STATUS.size :] == body


def test_a_delta_frame_of_type_init_reaches_one_member(live: Live) -> None:
    frame, body = delta(live, FrameType.INIT)
    arrived = live.exchange((live.server, frame))
    (copy,) = [bytes(datagram.payload) for datagram in _datagrams(arrived)]
    assert copy[OLAF.size :] == body


def _datagrams(arrived: dict[int, list[bytes]]) -> list[Packet]:
    return [Ether(frame)[UDP] for frames in arrived.values() for frame in frames]
