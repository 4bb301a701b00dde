"""The life of a process that serves: it announces itself, serves until a signal ends it, ends cleanly."""

import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(
    announce: Callable[[], None],
    close: Callable[[], None],
    *,
    report: Callable[[], None] | None = None,
    every: float | None = None,
) -> None:
    """Sleep until SIGTERM or SIGINT, then call ``close``; meanwhile call ``report`` each ``every`` seconds.

    ``announce`` runs once a signal leads to ``close``: its reader may end the process at once.
    """
    with woken(_ENDING, restore=False) as asleep:
        announce()
        asleep.settimeout(every)
        while True:
            try:
                if asleep.recv(1)[0] in _ENDING:
                    break
            except TimeoutError:
                if report is not None:
                    report()
    close()


@contextmanager
def woken(ending: Sequence[int], restore: bool = True) -> Iterator[socket.socket]:
    """Yield a socket that is readable once one of the signals ``ending`` has come. None of them interrupts
    anything meanwhile, nor afterwards without ``restore``."""
    # The kernel may give a signal to any thread; only the byte that it writes here surely wakes this one.
    asleep, waker = socket.socketpair()
    waker.setblocking(False)
    with asleep, waker:
        signal.set_wakeup_fd(waker.fileno())
        handlers = {number: signal.signal(number, lambda number, frame: None) for number in ending}
        try:
            yield asleep
        finally:
            for number, handler in handlers.items() if restore else ():
                signal.signal(number, handler)
            signal.set_wakeup_fd(-1)  # a further signal finds no closed socket
