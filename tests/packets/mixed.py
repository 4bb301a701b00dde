"""Random small testbeds whose clusters are of all modes, the same ones for the same seed."""

import random

from olafctl.wire.modes import Mode

_INDICES = 8


def testbed(seed: int) -> str:
    """A testbed of one engine, of even seeds in two shards, with two clusters of mode olaf, one of fifo and
    one that sums, or more."""
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
