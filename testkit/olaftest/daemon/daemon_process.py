"""A daemon as a process of its own, which a measurement starts and kills."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from olafswitch.errors import OlafError, Problem

TIMEOUT = 120.0
"""Seconds after which what must happen is taken not to."""


class DaemonProcess:
    """``python -m MODULE ARGUMENTS``, which serves at ``address`` and prints a line when it does."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        address: str,
        environment: Mapping[str, str] | None = None,
        entered: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        """``environment`` is added to this process's own; ``entered`` is a command that runs it elsewhere;
        what it says on standard error goes to the end of ``log``, if any."""
        self.address = address
        self._log = log
        self._entered = entered
        self._argv = [*entered, sys.executable, "-m", module, *arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process's id; it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the daemon; return when it serves. Raises OlafError."""
        with (self._log or Path(os.devnull)).open("ab") as log:
            self._process = subprocess.Popen(
                self._argv, stdout=subprocess.PIPE, stderr=log, text=True, env=self._environment
            )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            said = self._log.read_text()[-1000:] if self._log else ""
            raise OlafError(Problem(f"did not start {said}", "the daemon"))

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._process is not None:
            if self._entered:
                for process in psutil.Process(self._process.pid).children():
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextmanager
def running_daemon(process: DaemonProcess) -> Iterator[DaemonProcess]:
    """Run ``process`` meanwhile. Raises OlafError."""
    try:
        process.start()
        yield process
    finally:
        process.kill()


def wait_until(condition: Callable[[], object], where: str = "the daemon", seconds: float = TIMEOUT) -> None:
    """Wait for ``condition``, which may fail with an OlafError meanwhile.

    Raises OlafError after so many seconds.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except OlafError:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise OlafError(Problem(f"not ready after {seconds:g} s", where))
        time.sleep(0.05)
