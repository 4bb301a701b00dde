"""A daemon over two switches, as a process of its own:
``python -m olaflab.daemon.pair_daemon PLACE NAME CHECK_EVERY [ETCD]``."""

import sys
from pathlib import Path

from olafctl.daemon.controller import CHECK_SECONDS
from olafctl.daemon.daemon import Shared, serve_deployments
from olafctl.targets import testbeds
from olafswitch import main_thread
from olaftest.daemon.daemon_process import DaemonProcess
from olaftest.daemon.switch_pair import SwitchPair

_TESTBED = "testbed.yaml"


def make_process(
    pair: SwitchPair, name: str = "api", etcd: str = "", check_every: float = CHECK_SECONDS
) -> DaemonProcess:
    """Make a daemon of the switches of ``pair``, to be started; others share them by the endpoints of
    ``etcd``.

    It compares them with its membership ``check_every`` seconds after the last time.
    """
    (pair.folder / _TESTBED).write_text(pair.testbed.text)
    arguments = [str(pair.folder), name, str(check_every), *([etcd] if etcd else [])]
    return DaemonProcess("olaflab.daemon.pair_daemon", arguments, _address_of(pair.folder, name))


def _address_of(place: Path, name: str) -> str:
    return f"unix:{place}/{name}/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place, name, check_every, *etcd = Path(sys.argv[1]), *sys.argv[2:]
    pair = SwitchPair(testbeds.load_testbed(place / _TESTBED), place, owns=False)
    shared = Shared(etcd[0].split(",")) if etcd else None
    with serve_deployments(
        [pair], _address_of(place, name), shared=shared, check_every=float(check_every)
    ) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
