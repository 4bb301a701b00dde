"""Stream frames of front ports of this machine, and lines of logs."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import grpc

from olafctl.control import logs
from olafctl.control.store import Store
from olafctl.machines.client import SEEN
from olafswitch.errors import OlafError
from olafswitch.ports.capture import FrameListener
from olafswitch.ports.host import HostPort

_LOOK_AGAIN = 0.5
"""The seconds between two checks whether the caller is still there, where no event wakes the thread."""


def exchange_frames(port: HostPort, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    """Send the caller's frames; yield an empty frame first, then the port's frames. Raises OlafError."""

    def send() -> None:
        with suppress(grpc.RpcError, OlafError):
            for frame in requests:
                port.send(frame)

    with closing(port):
        yield b""
        threading.Thread(target=send, name="frames", daemon=True).start()
        while context.is_active():
            if (frame := port.receive(_LOOK_AGAIN)) is not None:
                yield frame


def capture_frames(listener: FrameListener, context: Any) -> Iterator[bytes]:
    """Yield an empty message once the listener is open, then each frame behind its :data:`SEEN`."""
    ended, ending = socket.socketpair()
    with closing(listener), ended, ending:
        yield b""
        if not context.add_callback(lambda: _wake_listener(ending)):
            return
        waiting = select.poll()
        for each in (listener, ended):
            waiting.register(each, select.POLLIN)
        while context.is_active():
            waiting.poll(_LOOK_AGAIN * 1000)
            for seen in listener.seen():
                yield SEEN.pack(seen.when, listener.lost(), seen.outbound) + seen.frame


def follow_logs(folder: Path, active: Callable[[], bool]) -> Iterator[dict[str, str]]:
    """Yield the lines of all logs as they are written, while ``active``."""
    for path, line in logs.follow_logs(logs.paths_of(Store(folder)), active):
        yield {"log": path.name, "line": line}


def _wake_listener(ending: socket.socket) -> None:
    with suppress(OSError):
        ending.send(b"\0")
