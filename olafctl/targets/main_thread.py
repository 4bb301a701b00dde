"""The life of a deployment's process: tell that it is ready, serve until told to end, end cleanly."""

import signal
import socket
from collections.abc import Callable
from typing import Any

from olafctl.targets.processes import say_ready

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(ready_fd: int | None, ready: Any, close: Callable[[], None]) -> None:
    """Say ``ready`` (as JSON) and sleep until SIGTERM or SIGINT; then ``close``."""
    # The kernel may give a signal to any thread; only what it writes here is sure to wake this one.
    asleep, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    for number in _ENDING:
        signal.signal(number, lambda number, frame: None)
    if ready_fd is not None:
        say_ready(ready_fd, ready)
    while asleep.recv(1)[0] not in _ENDING:
        pass
    close()
