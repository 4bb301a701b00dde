"""The hosts of the P4 tests: two workers of different clusters, a parameter server, a stranger."""

from dataclasses import replace
from ipaddress import IPv4Address

import numpy as np
from scapy.layers.l2 import Ether

from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olaftest.frames import OlafFrame

WORKER = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 40001)
NEIGHBOUR = Endpoint("02:00:00:00:00:02", IPv4Address("10.0.0.2"), 40002)
SERVER = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), layouts.UDP_PORT)
STRANGER = Endpoint("02:00:00:00:00:99", IPv4Address("10.0.0.99"), 5000)

CHILD = Endpoint("02:00:00:00:00:77", IPv4Address("240.0.5.1"), layouts.UDP_PORT)
"""An engine below, as a member of the worker's cluster."""
BETWEEN = Endpoint("02:00:00:00:00:78", IPv4Address("240.0.5.2"), layouts.UDP_PORT)
"""An address between engines that no engine has."""
ENGINE = Endpoint("02:00:00:00:00:fa", IPv4Address("10.0.0.250"), layouts.UDP_PORT)
FAR = Endpoint("02:00:00:00:00:66", IPv4Address("10.0.0.66"), 40066)
"""A worker whose updates do not pass this engine."""

EPOCH = 2
"""The epoch of the worker's job; the neighbour's is 0."""

PLAIN = Ether(src=STRANGER.mac, dst=SERVER.mac)
"""An Ethernet header with its own addresses, so that Scapy need not look for any."""

WORKER_PORT, NEIGHBOUR_PORT, SERVER_PORT, STRANGER_PORT, LINK_PORT, OTHER_LINK_PORT = 1, 2, 10, 3, 4, 5


def make_update(source: Endpoint = WORKER, destination: Endpoint = SERVER, values: int = 3) -> OlafFrame:
    """Return an update with ``values`` gradient values, none of them zero."""
    gradient = np.arange(1, values + 1, dtype=np.float32)
    epoch = EPOCH if {WORKER, CHILD} & {source, destination} else 0
    return OlafFrame(source, destination, FrameType.UPDATE, 0, 1, 7, 1.25, 1_000, gradient, epoch=epoch)


def make_ack(destination: Endpoint = WORKER, source: Endpoint = SERVER) -> OlafFrame:
    """Return the parameter server's answer to an update."""
    return replace(make_update(source, destination), frame_type=FrameType.ACK)


def make_result(destination: Endpoint = WORKER, source: Endpoint = SERVER) -> OlafFrame:
    """Return the sum of a round, from the parent engine."""
    return replace(make_update(source, destination), frame_type=FrameType.RESULT, count=4)


def with_bytes(frame: bytes, offset: int, data: bytes) -> bytes:
    """Return ``frame`` with ``data`` written over it at ``offset``."""
    return frame[:offset] + data + frame[offset + len(data) :]


def with_right_checksum(frame: bytes) -> bytes:
    """Return ``frame`` with the right checksum in its IPv4 header."""
    header = with_bytes(frame[IPV4:][: layouts.IPV4.size], 10, bytes(2))
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return with_bytes(frame, IPV4_CHECKSUM, (~total & 0xFFFF).to_bytes(2, "big"))


IPV4 = layouts.ETHERNET.size
IPV4_LENGTH = IPV4 + 2
IPV4_IDENTIFICATION = IPV4 + 4
IPV4_TTL = IPV4 + 8
IPV4_CHECKSUM = IPV4 + 10
IPV4_TOS = IPV4 + 1
UDP_CHECKSUM = layouts.ETHERNET.size + layouts.IPV4.size + 6
OLAF = layouts.GRADIENT_OFFSET - layouts.OLAF.size
