"""Random small testbeds whose clusters are of all modes, and random histories of a membership."""

import random
from collections.abc import Callable
from typing import Any

from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode

_INDICES = 8


def testbed(seed: int) -> str:
    """Return a testbed of one engine, for even seeds in two shards, with at least two clusters of mode olaf,
    one of fifo and one that sums."""
    pick = random.Random(seed)
    modes = [Mode.OLAF, Mode.OLAF, Mode.FIFO, pick.choice([Mode.ISWITCH, Mode.ISWITCH_ASYNC])]
    modes += pick.choices([*Mode, Mode.OLAF], k=pick.randint(0, 3))
    pick.shuffle(modes)
    spare = _INDICES - len(modes)
    lines = [
        f"name: mixed-{seed}",
        f"engine: {{indices: {_INDICES}, slots: {pick.choice([2, 4, 8])}, beats: 22, address: 10.0.0.250,"
        f" mode: {pick.choice([Mode.OLAF, Mode.FIFO])}, shards: {2 - seed % 2}}}",
        "ports: [{number: 1, name: ps}, {numbers: 2-4, name: tor}]",
        "parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]",
        "clusters:",
    ]
    for nth, mode in enumerate(modes):
        fields = {"mode": str(mode), "epoch": pick.choice([3, 7])}
        if spare and pick.random() < 0.5:
            spare, fields["values"] = spare - 1, 400
        if mode is Mode.OLAF and pick.random() < 0.2:
            fields |= pick.choice([{"reward_threshold": 2}, {"staleness_bound": 4}])
        lines.append(f"  - name: c{nth}")
        lines += [f"    {name}: {value}" for name, value in fields.items()]
        lines.append("    workers:")
        for member in range(pick.choice([1, 2, 3, 3])):
            place = f"port: {pick.randint(2, 4)}, ip: 10.0.{nth + 1}.{member + 1}"
            lines.append(f"      - {{name: c{nth}-w{member}, {place}}}")
    return "\n".join(lines) + "\n"


def live_through(testbed: Callable[[], Testbed], seed: int, call: Callable[..., Any]) -> None:
    """Change a deployed ``testbed`` by ``call`` as its users would: clusters are created and filled, members
    move, leave and come back, in the same order for the same seed."""
    pick = random.Random(seed)
    ports = sorted({worker.port for worker in testbed().workers})
    for nth in range(2):  # their epochs are new
        call("CreateCluster", name=f"late{nth}")
        for member in range(3):
            where = {"ip": f"10.0.{30 + nth}.{member + 1}", "port": pick.choice(ports)}
            call("Join", cluster=f"late{nth}", name=f"late{nth}-{member}", **where)
    for _ in range(8):
        merging = [each for each in testbed().clusters if not testbed().mode_of(each).sums]
        home, other = pick.sample([each for each in merging if each.segments == 1], 2)
        worker = pick.choice(home.workers)
        if len(home.workers) > 2 and pick.random() < 0.7:
            call("MoveWorker", worker=worker.name, cluster=other.name)
        else:
            call("Leave", worker=worker.name)
            call("Join", cluster=home.name, name=worker.name, ip=str(worker.ip), port=pick.choice(ports))
