"""UNIX sockets work at any path, and a dead process's socket is replaced."""

import socket
from pathlib import Path

import pytest

from olafswitch.ports import unix


def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    with (
        unix.listen_at(folder / "a.sock", socket.SOCK_SEQPACKET) as listening,
        unix.connect_to(folder / "a.sock", socket.SOCK_SEQPACKET) as near,
    ):
        far, _ = listening.accept()
        near.send(b"frame")
        assert far.recv(100) == b"frame"
        far.close()


def test_a_dead_socket_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    unix.listen_at(tmp_path / "a.sock", socket.SOCK_STREAM).close()
    living = unix.listen_at(tmp_path / "a.sock", socket.SOCK_STREAM)
    with living, pytest.raises(FileExistsError, match="in use"):
        unix.listen_at(tmp_path / "a.sock", socket.SOCK_STREAM)


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.sock").write_text("precious")
    with pytest.raises(FileExistsError):
        unix.listen_at(tmp_path / "a.sock", socket.SOCK_STREAM)
    assert (tmp_path / "a.sock").read_text() == "precious"
