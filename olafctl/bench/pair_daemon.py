"""A daemon over two switches, as a process of its own: ``python -m olafctl.bench.pair_daemon PLACE``.

The environment may give it a name, by which it serves, and an etcd to share the switches with others.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.bench.daemon_process import DaemonProcess, running
from olafctl.bench.switch_pair import SwitchPair
from olafctl.daemon.daemon import Shared, serving
from olafctl.targets import main_thread, testbeds

_TESTBED = "testbed.yaml"
_NAME, _ETCD = "OLAF_BENCH_NAME", "OLAF_BENCH_ETCD"


@contextmanager
def owning(pair: SwitchPair, name: str = "api", etcd: str = "") -> Iterator[DaemonProcess]:
    """A daemon of the switches of ``pair`` that runs meanwhile; with an ``etcd`` endpoint it shares them with
    others. Raises OlafError."""
    (pair.folder / _TESTBED).write_text(pair.testbed.text)
    place, environment = str(pair.folder), {_NAME: name, _ETCD: etcd}
    with running("olafctl.bench.pair_daemon", place, _address(pair.folder, name), environment) as process:
        yield process


def _address(place: Path, name: str) -> str:
    return f"unix:{place}/{name}/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place, etcd = Path(sys.argv[1]), os.environ[_ETCD]
    pair = SwitchPair(testbeds.load(place / _TESTBED), place, owns=False)
    shared = Shared([etcd]) if etcd else None
    with serving([pair], _address(place, os.environ[_NAME]), shared=shared) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
