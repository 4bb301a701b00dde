"""A daemon over two switches, as a process of its own:
``python -m olafctl.bench.pair_daemon PLACE NAME [ETCD]``."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.bench.switch_pair import SwitchPair
from olafctl.daemon.daemon import Shared, serving
from olafctl.errors import OlafError, Problem
from olafctl.targets import main_thread, testbeds

TIMEOUT = 120.0
"""Seconds after which what must happen is taken not to."""
_TESTBED = "testbed.yaml"


class DaemonProcess:
    """A daemon of the switches of ``pair``; with an ``etcd`` endpoint it shares them with others."""

    def __init__(self, pair: SwitchPair, name: str = "api", etcd: str = "") -> None:
        self._argv = [sys.executable, "-m", "olafctl.bench.pair_daemon", str(pair.folder), name]
        self._argv += [etcd] if etcd else []
        self._process: subprocess.Popen[str] | None = None
        self.address = _address(pair.folder, name)
        (pair.folder / _TESTBED).write_text(pair.testbed.text)

    @property
    def pid(self) -> int:
        """The process's id; it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it serves. Raises OlafError."""
        self._process = subprocess.Popen(
            self._argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise OlafError(Problem("did not start", "the daemon"))

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextmanager
def owning(pair: SwitchPair) -> Iterator[DaemonProcess]:
    """A daemon that runs meanwhile. Raises OlafError."""
    process = DaemonProcess(pair)
    try:
        process.start()
        yield process
    finally:
        process.kill()


def until(condition: Callable[[], bool]) -> None:
    """Wait for ``condition``, which may fail with an OlafError meanwhile.

    Raises OlafError after :data:`TIMEOUT`.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            if condition():
                return
        except OlafError:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise OlafError(Problem(f"not ready after {TIMEOUT:g} s", "the daemon"))
        time.sleep(0.05)


def _address(place: Path, name: str) -> str:
    return f"unix:{place}/{name}/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place, name, *etcd = Path(sys.argv[1]), *sys.argv[2:]
    pair = SwitchPair(testbeds.load(place / _TESTBED), place, owns=False)
    shared = Shared(etcd) if etcd else None
    with serving([pair], _address(place, name), shared=shared) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
