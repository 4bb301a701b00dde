"""Ordinary programs in virtual time: each in a thread of its own, and only one of them ever runs.

A program computes in no time and then sleeps, as long as its computing is stated to take. So programs that
know nothing of virtual time can be members of a simulation, and the simulation repeats exactly.
"""

import threading
from collections.abc import Callable

from olaf.transport.virtual import VirtualNetwork


class Script:
    """One program."""

    def __init__(self, network: VirtualNetwork, program: Callable[["Script"], None]) -> None:
        """``program`` begins when ``begin`` is called, and must call ``sleep`` from its own thread."""
        self._network = network
        self._program = program
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None
        self.done = False

    def begin(self, time: float) -> None:
        """Start at virtual ``time`` in seconds; what the program raises is raised by the simulation."""
        self._network.at(time, self._start)

    def sleep(self, seconds: float) -> None:
        """Go on so much later in virtual time."""
        self._network.at(self._network.time + seconds, self._resume)
        self._paused.release()
        self._go.acquire()

    def _start(self) -> None:
        self._thread.start()
        self._resume()

    def _resume(self) -> None:
        self._go.release()
        self._paused.acquire()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._program(self)
        except BaseException as failure:  # raised where the simulation runs
            self._failure = failure
        self.done = True
        self._paused.release()
