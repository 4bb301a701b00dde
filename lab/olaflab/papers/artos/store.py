"""Redis between actors and learner, as elastic frameworks have it, and as much of a client as that needs."""

import shutil
import socket
import subprocess
import time
from typing import Any

from olafswitch.errors import MissingTool, OlafError, Problem

_PORT = 6379
_STARTS = 20.0
"""Seconds that the server may take."""
_LONGEST_LINE = 1 << 16


def start_server(address: str) -> subprocess.Popen[bytes]:
    """Start the server, in memory alone. Raises MissingTool, and OlafError if it does not start."""
    program = shutil.which("redis-server")
    if program is None:
        raise MissingTool(Problem("no redis-server", remedy="apt-get install redis-server"))
    options = {"bind": address, "port": str(_PORT), "protected-mode": "no", "save": "", "dir": "/tmp"}
    command = [program, *(part for key, value in options.items() for part in (f"--{key}", value))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + _STARTS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection((address, _PORT), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return process
    process.kill()
    raise OlafError(Problem("redis-server does not answer", address))


class StoreClient:
    """Lists of blocks, by the protocol RESP 2."""

    def __init__(self, address: str, port: int = _PORT) -> None:
        self._socket = socket.create_connection((address, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read: Any = self._socket.makefile("rb", 1 << 20)

    def push_block(self, key: bytes, block: Any) -> None:
        """Add a block, an array or bytes, to the end of a list; returns when the store has it."""
        self._send_command(b"RPUSH", key, block)
        self._read_answer(b":")

    def pop_block(self, key: bytes, into: Any) -> None:
        """Wait for a list's first block and move it into an array of its size."""
        self._send_command(b"BLPOP", key, b"0")
        self._read_answer(b"*")
        self._read.read(self._read_answer(b"$") + 2)
        size, view = self._read_answer(b"$"), memoryview(into).cast("B")
        if size != len(view) or self._read.readinto(view) != size:
            raise OlafError(Problem(f"the store has {size} bytes, not {len(view)}", key.decode()))
        self._read.read(2)

    def close(self) -> None:
        """Close the connection."""
        self._read.close()
        self._socket.close()

    def _send_command(self, *parts: Any) -> None:
        head = b"*%d\r\n" % len(parts)
        for part in parts:
            view = memoryview(part).cast("B")
            self._socket.sendall(head + b"$%d\r\n" % len(view))
            self._socket.sendall(view)
            head = b"\r\n"
        self._socket.sendall(head)

    def _read_answer(self, kind: bytes) -> int:
        line = self._read.readline(_LONGEST_LINE)
        if line[:1] != kind:
            raise OlafError(
                Problem("the store answered something else", line.decode(errors="replace").strip())
            )
        return int(line[1:])
