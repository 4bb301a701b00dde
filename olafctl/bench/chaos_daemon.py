"""The daemon that chaos kills: ``python -m olafctl.bench.chaos_daemon PLACE``, over the switches in PLACE."""

import sys
from pathlib import Path

from olafctl.bench.chaos import testbed
from olafctl.bench.switch_pair import SwitchPair
from olafctl.daemon.daemon import serving
from olafctl.targets import main_thread


def main() -> None:
    """Serve until the end of the process."""
    place = Path(sys.argv[1])
    pair = SwitchPair(testbed(), place, owns=False)
    with serving([pair], f"unix:{place}/api/olaf.sock") as server:
        print(server.address, flush=True)
        main_thread.serve(None, None, lambda: None)


if __name__ == "__main__":
    main()
