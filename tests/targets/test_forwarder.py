"""Loopback ports reach UNIX sockets, each its own, both ways, and closing travels along."""

import socket
import threading
from pathlib import Path

from olafctl.ports import unix
from olafctl.targets.bmv2.forwarder import Forwarder


def answer_with(listening: socket.socket, name: bytes) -> None:
    def serve() -> None:
        peer, _ = listening.accept()
        with peer:
            received = b""
            while data := peer.recv(1 << 16):
                received += data
            peer.sendall(name + b":" + received)

    threading.Thread(target=serve, daemon=True).start()


def talk(address: str, data: bytes) -> bytes:
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as near:
        near.sendall(data)
        near.shutdown(socket.SHUT_WR)
        answer = b""
        while part := near.recv(1 << 16):
            answer += part
        return answer


def test_each_port_reaches_its_own_socket(tmp_path: Path) -> None:
    paths = [tmp_path / "a.sock", tmp_path / "b.sock"]
    listening = [unix.listen(path, socket.SOCK_STREAM) for path in paths]
    for sock, name in zip(listening, (b"a", b"b"), strict=True):
        answer_with(sock, name)
    first, second = Forwarder(paths).addresses
    large = bytes(range(256)) * 4096
    assert talk(second, b"hello") == b"b:hello"
    assert talk(first, large) == b"a:" + large


def test_nobody_behind_it_closes_the_connection(tmp_path: Path) -> None:
    (address,) = Forwarder([tmp_path / "none.sock"]).addresses
    assert talk(address, b"") == b""
