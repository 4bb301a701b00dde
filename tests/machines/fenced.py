"""``python fenced.py BED``: a controller leads, and then a later one. It prints as JSON how the devices and
queues of all machines answer the earlier one's writes."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from olafctl.control import devices
from olafctl.machines.everywhere import Everywhere
from olafctl.targets import testbeds
from olafswitch.errors import OlafError
from olafswitch.p4runtime.entities import MulticastGroup, Replica
from olafswitch.p4runtime.session import Change, EntityUpdate


def main(bed: Path) -> None:
    testbed, now = testbeds.load_testbed(bed), time.time_ns()
    with TemporaryDirectory() as state:
        old, new = (Everywhere(testbed.target).find(testbed, Path(state)) for _ in range(2))
        assert old is not None and new is not None
        group = EntityUpdate(Change.INSERT, MulticastGroup(1000, [Replica(1, 1)]))
        with (
            devices.control_devices(old, take_over=True, election_id=now) as sessions,
            devices.control_devices(new, take_over=True, election_id=now + 1),
        ):
            writes = {name: partial(session.write, [group]) for name, session in sessions.items()}
            writes |= {f"{name}/queue": partial(each.write, "hold", 1) for name, each in old.queues.items()}
            answers = {name: is_refused(write) for name, write in writes.items()}
    print(json.dumps(answers))


def is_refused(write: Callable[[], object]) -> str:
    try:
        write()
    except OlafError as error:
        return str(error)
    return ""


main(Path(sys.argv[1]))
