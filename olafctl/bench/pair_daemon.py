"""A daemon over two switches, as a process of its own: ``python -m olafctl.bench.pair_daemon PLACE``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.bench.daemon_process import DaemonProcess, running
from olafctl.bench.switch_pair import SwitchPair
from olafctl.daemon.daemon import serving
from olafctl.targets import main_thread, testbeds

_TESTBED = "testbed.yaml"


@contextmanager
def owning(pair: SwitchPair) -> Iterator[DaemonProcess]:
    """A daemon of the switches of ``pair`` that runs meanwhile. Raises OlafError."""
    (pair.folder / _TESTBED).write_text(pair.testbed.text)
    with running("olafctl.bench.pair_daemon", str(pair.folder), _address(pair.folder)) as process:
        yield process


def _address(place: Path) -> str:
    return f"unix:{place}/api/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place = Path(sys.argv[1])
    pair = SwitchPair(testbeds.load(place / _TESTBED), place, owns=False)
    with serving([pair], _address(place)) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
