"""The life of a deployment's process: tell that it is ready, serve until told to end, end cleanly."""

import signal
import socket
from collections.abc import Callable

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(announce: Callable[[], None], close: Callable[[], None]) -> None:
    """Sleep until SIGTERM or SIGINT, then ``close``; ``announce`` runs once a signal leads there.

    Who reads the announcement may end the process at once.
    """
    # The kernel may give a signal to any thread; only what it writes here is sure to wake this one.
    asleep, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    for number in _ENDING:
        signal.signal(number, lambda number, frame: None)
    announce()
    while asleep.recv(1)[0] not in _ENDING:
        pass
    close()
