"""The control socket answers each question once, and objects to texts that it does not understand."""

import json
import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olafctl.targets.control import ControlServer, ask_process, take_over
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports import unix


def double(request: dict[str, Any]) -> int:
    return 2 * int(request["value"])


def refuse(request: dict[str, Any]) -> None:
    raise BadInput(Problem("the register does not exist", "queue", "see docs"))


def shout(peer: socket.socket) -> None:
    while data := peer.recv(100):
        peer.sendall(data.upper())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "control.sock"
    server = ControlServer(path, {"double": double, "refuse": refuse}, {"shout": shout})
    yield path
    server.close()


def test_an_answer(server: Path) -> None:
    assert ask_process(server, "double", value=21) == 42


def test_an_objection_arrives_whole(server: Path) -> None:
    with pytest.raises(OlafError) as caught:
        ask_process(server, "refuse")
    assert list(caught.value.problems) == [Problem("the register does not exist", "queue", "see docs")]


@pytest.mark.parametrize("arguments", [{}, {"value": "many"}, {"value": None}])
def test_a_wrong_argument_is_an_objection(server: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(OlafError, match="not understood"):
        ask_process(server, "double", **arguments)
    assert ask_process(server, "double", value=1) == 2


@pytest.mark.parametrize("line", [b"\n", b"nonsense\n", b"[1]\n", b'{"do": 7}\n', b"\xff\xfe\n"])
def test_nonsense_is_an_objection(server: Path, line: bytes) -> None:
    with unix.connect_to(server, socket.SOCK_STREAM, 5.0) as peer:
        peer.sendall(line)
        assert "problems" in json.loads(peer.recv(10000))
    assert ask_process(server, "double", value=1) == 2


def test_half_a_line_is_waited_for(server: Path) -> None:
    with unix.connect_to(server, socket.SOCK_STREAM, 5.0) as peer:
        peer.sendall(b'{"do": "double", ')
        peer.sendall(b'"value": 3}\n')
        assert json.loads(peer.recv(1000)) == {"value": 6}


def test_a_stream_is_taken_over_with_what_was_sent_at_once(server: Path) -> None:
    with take_over(server, "shout") as peer:
        peer.sendall(b"hello")
        assert peer.recv(100) == b"HELLO"


def test_a_missing_process_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(OlafError, match="does not answer"):
        ask_process(tmp_path / "none.sock", "double", value=1)


def test_it_answers_again_after_a_lack_of_descriptors(server: Path) -> None:
    waiting = unix.connect_to(server, socket.SOCK_STREAM, 60.0)
    waiting.sendall(b'{"do": "double", "value": 1}\n')
    assert waiting.recv(100)
    waiting.close()
    lowest = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    asking = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(3)]
    # Open descriptors stay open; there are none for new connections.
    with unix.short_name(server) as name:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
        try:
            for peer in asking:
                peer.settimeout(60.0)
                peer.connect(name)
                peer.sendall(b'{"do": "double", "value": 21}\n')
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for peer in asking:
        assert json.loads(peer.recv(100)) == {"value": 42}
        peer.close()
