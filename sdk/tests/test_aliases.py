"""Members of several clusters in one program: an address each, one socket, one thread."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.errors import BadAddress
from olaf.policies import Plain
from olaf.transport.aliases import share
from olaf.transport.port import Address, Run
from olaf.transport.udp import UdpPort
from tests.testnet import weights_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")

HERE = ("127.0.0.11", "127.0.0.12", "127.0.0.13")


class Mailbox:
    def __init__(self) -> None:
        self.received: list[tuple[bytes, Address]] = []

    def receive(self, run: Run, source: Address) -> None:
        self.received += [(bytes(datagram), source) for datagram in run]

    def tick(self) -> float | None:
        return None


@pytest.fixture
def peer() -> Iterator[UdpPort]:
    port = UdpPort(("127.0.0.1", 0))
    yield port
    port.close()


def test_each_address_sends_and_receives_as_itself(peer: UdpPort) -> None:
    box, mine = Mailbox(), [Mailbox() for _ in HERE]
    threads = threading.active_count()
    ports = share(*HERE, port=0)
    try:
        peer.serve(box)
        for port, own in zip(ports, mine):
            port.serve(own)
        assert threading.active_count() == threads + 2  # the peer's, and one for all addresses
        assert [port.address[0] for port in ports] == list(HERE)
        assert len({port.address[1] for port in ports}) == 1
        for number, port in enumerate(ports):
            run = Run(memoryview(bytes([number] * 4000)), 1000)  # divided by the kernel, where it can
            assert port.send(peer.address, b"head", bytes([number])) and port.send_run(peer.address, run) == 4
        assert peer.wait(lambda: len(box.received) == 5 * len(HERE), 20)
        for number, port in enumerate(ports):
            own_frames = [data for data, source in box.received if source == port.address]
            assert own_frames == [b"head" + bytes([number]), *4 * [bytes([number] * 1000)]]
            assert peer.send(port.address, bytes([number] * 3))
        assert ports[0].wait(lambda: all(own.received for own in mine), 20)
        assert [own.received for own in mine] == [[(bytes([n] * 3), peer.address)] for n in range(len(HERE))]
    finally:
        for port in ports:
            port.close()
    assert threading.active_count() == threads + 1


def test_the_socket_stays_until_the_last_address_is_given_back(peer: UdpPort) -> None:
    box = Mailbox()
    first, second = share(*HERE[:2], port=0)
    second.serve(box)
    number = second.address[1]
    first.close()
    assert peer.send((HERE[0], number), b"unclaimed") and peer.send((HERE[1], number), b"still there")
    assert second.wait(lambda: len(box.received) == 1, 20)
    assert box.received[0][0] == b"still there"
    second.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("0.0.0.0", number))


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        (("127.0.0.11", "127.0.0.11"), "give each once"),
        ((), "give each once"),
        (("192.0.2.77",), "not an address of this machine.*ip address add"),
        (("somewhere",), "'somewhere' is not an address"),
        (("0.0.0.0",), "stands for all"),
    ],
)
def test_invalid_addresses_are_refused_before_a_socket_opens(
    addresses: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadAddress, match=message):
        share(*addresses, port=0)


def test_one_program_trains_in_a_cluster_for_each_agent() -> None:
    """The server knows a cluster by its members' addresses, as an engine does: no update strays."""
    members = dict(zip(HERE, ("predators", "prey", "others")))
    server = ParameterServer("127.0.0.1:0", policy=partial(Plain, rate=1.0), members=members)
    workers = [Worker(f"127.0.0.1:{server.address[1]}", 3000, port=port) for port in share(*HERE, port=0)]
    try:
        for number, worker in enumerate(workers):
            worker.begin(np.full(3000, 100.0 * number, np.float32))
            assert worker.wait(20)
            worker.offer(np.full(3000, number + 1.0, np.float32), 0.0)
        for number, (worker, cluster) in enumerate(zip(workers, members.values())):
            assert worker.drain(20)
            assert (weights_of(server, cluster) == 101.0 * number + 1).all()
    finally:
        for worker in workers:
            worker.close()
        server.close()
