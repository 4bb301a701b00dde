"""The life of a deployment's process: tell that it is ready, serve until told to end, end cleanly."""

import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from olafctl import log
from olafctl.errors import OlafError
from olafctl.targets.processes import say_ready

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(
    announce: Callable[[], None],
    close: Callable[[], None],
    *,
    report: Callable[[], None] | None = None,
    every: float | None = None,
) -> None:
    """Sleep until SIGTERM or SIGINT, then ``close``; meanwhile ``report`` each ``every`` seconds.

    ``announce`` runs once a signal leads to ``close``: who reads it may end the process at once.
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
    """Readable once one of the signals ``ending`` has come; none of them interrupts anything, meanwhile, or
    afterwards if they are not to be as before."""
    # The kernel may give a signal to any thread; only what it writes here is sure to wake this one.
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


def program(serving: Callable[[Path], AbstractContextManager[Any]]) -> None:
    """Run ``python -m MODULE STATE``, which serves the deployment in STATE inside of ``serving``; what that
    gives is told to the process that waits for this one to be ready."""

    @click.command()
    @click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
    @click.option("--ready-fd", type=int)
    def main(state: Path, ready_fd: int | None) -> None:
        log.configure()
        with ExitStack() as stack:
            try:
                told = stack.enter_context(serving(state))
            except (OlafError, OSError) as error:
                raise click.ClickException(str(error)) from error
            serve(lambda: say_ready(ready_fd, told), lambda: None)

    main()
