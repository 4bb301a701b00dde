"""Three deployments next to each other with the same addresses, on kernel sockets, and their destruction."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np

from olafctl.control.hosts import deployed
from olafctl.control.store import folder_of
from olafctl.wire.frames import pack_header, unpack_header
from olafctl.wire.layouts import OLAF, STATUS, Flag, FrameType
from tests.control.hosts.conftest import bring_up, needs_interfaces, udp

pytestmark = needs_interfaces
NAMES = ("one", "two", "three")
MEMBERS = {"red": ("red0", "red1"), "blue": ("blue0", "blue1")}
SERVER = ("10.0.0.254", 20300)
"""The parameter server's address, in each deployment."""


def test_updates_reach_only_the_server_acks_only_the_cluster(state: Path) -> None:
    for name in NAMES:
        bring_up(name)
    with ExitStack() as stack:
        everyone = {name: stack.enter_context(sockets(folder_of(name))) for name in NAMES}
        for number, name in enumerate(NAMES):
            for cluster, members in MEMBERS.items():
                update = message(FrameType.UPDATE, number, [number, len(cluster)])
                everyone[name][members[0]].sendto(update, SERVER)
                received, worker = everyone[name]["ps"].recvfrom(9000)
                assert received == update
                everyone[name]["ps"].sendto(message(FrameType.ACK, number, [0.5]), worker)
                for member in members:
                    assert_is_ack(everyone[name][member].recv(9000), number)
                assert_nothing_else_came(everyone)


@contextmanager
def sockets(folder: Path) -> Iterator[dict[str, socket.socket]]:
    """Yield a kernel UDP socket of every host."""
    with ExitStack() as stack:
        hosts = [host["name"] for host in deployed.show_hosts(folder)]
        yield {host: stack.enter_context(closing(udp(folder, host))) for host in hosts}


def message(kind: FrameType, seq: int, values: list[float]) -> bytes:
    fields = {"version": 1, "frame_type": kind, "count": 1, "seq": seq}
    return pack_header(OLAF, fields) + np.array(values, "<f4").tobytes()


def assert_is_ack(datagram: bytes, seq: int) -> None:
    header = unpack_header(OLAF, datagram)
    assert (header["frame_type"], header["seq"], header["flags"]) == (FrameType.ACK, seq, Flag.STATUS)
    assert np.frombuffer(datagram[OLAF.size + STATUS.size :], "<f4").tolist() == [0.5]


def assert_nothing_else_came(everyone: dict[str, dict[str, socket.socket]]) -> None:
    """Check that no host has another frame: one sent after an ACK on the same path arrives after it."""
    for hosts in everyone.values():
        for host, receiving in hosts.items():
            sender = hosts["left" if host == "ps" else "ps"]
            sender.sendto(b"last", receiving_address(host))
            assert receiving.recv(9000) == b"last"


def receiving_address(host: str) -> tuple[str, int]:
    addresses = {"ps": "10.0.0.254", "red0": "10.0.1.1", "red1": "10.0.1.2", "blue0": "10.0.2.1"}
    addresses |= {"blue1": "10.0.2.2", "left": "10.0.3.1", "right": "10.0.3.2"}
    return addresses[host], 20300
