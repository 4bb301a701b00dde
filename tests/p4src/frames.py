"""The cast of the P4 tests: two workers of different clusters, a parameter server, a stranger."""

from dataclasses import replace
from ipaddress import IPv4Address

import numpy as np
from scapy.layers.l2 import Ether

from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint, OlafFrame
from olafctl.wire.layouts import FrameType

WORKER = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 40001)
NEIGHBOUR = Endpoint("02:00:00:00:00:02", IPv4Address("10.0.0.2"), 40002)
SERVER = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), layouts.UDP_PORT)
STRANGER = Endpoint("02:00:00:00:00:99", IPv4Address("10.0.0.99"), 5000)

EPOCH = 2
"""Of the worker's job; the neighbour's is 0."""

PLAIN = Ether(src=STRANGER.mac, dst=SERVER.mac)
"""An Ethernet header with addresses of its own, so that Scapy need not look for any."""

WORKER_PORT, NEIGHBOUR_PORT, SERVER_PORT, STRANGER_PORT = 1, 2, 10, 3


def update(source: Endpoint = WORKER, destination: Endpoint = SERVER, values: int = 3) -> OlafFrame:
    """An update with ``values`` gradient values, none of them zero."""
    gradient = np.arange(1, values + 1, dtype=np.float32)
    epoch = EPOCH if WORKER in (source, destination) else 0
    return OlafFrame(source, destination, FrameType.UPDATE, 0, 1, 7, 1.25, 1_000, gradient, epoch=epoch)


def ack(destination: Endpoint = WORKER, source: Endpoint = SERVER) -> OlafFrame:
    """The parameter server's answer to an update."""
    return replace(update(source, destination), frame_type=FrameType.ACK)


def result(destination: Endpoint = WORKER, source: Endpoint = SERVER) -> OlafFrame:
    """The sum of a round, from the parent engine."""
    return replace(update(source, destination), frame_type=FrameType.RESULT, count=4)


def with_bytes(frame: bytes, offset: int, data: bytes) -> bytes:
    """``frame`` with ``data`` written over it at ``offset``."""
    return frame[:offset] + data + frame[offset + len(data) :]


IPV4_TOS = layouts.ETHERNET.size + 1
IPV4_FLAGS = layouts.ETHERNET.size + 6
UDP_CHECKSUM = layouts.ETHERNET.size + layouts.IPV4.size + 6
OLAF = layouts.GRADIENT_OFFSET - layouts.OLAF.size
