"""Testbeds of one engine, or of two racks below a root, whose hosts may be killed or come late."""

from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed

_ENGINE = "indices: 16, slots: 16, beats: 22"


def make_testbed(
    name: str, target: str, cluster: str, hosts: int, levels: int, transport: str = "veth", shape: str = ""
) -> Testbed:
    """Describe ``hosts`` of one cluster below one engine, or with two ``levels`` half in each rack.

    ``shape`` are the cluster's further keys.
    """
    racks = {1: range(hosts)} if levels == 1 else {1: range(-(-hosts // 2)), 2: range(-(-hosts // 2), hosts)}
    ports = {
        rack: f"{{numbers: {100 * rack + 1}-{100 * rack + len(members)}, name: host, transport: {transport}}}"
        for rack, members in racks.items()
    }
    below = "".join(
        f"\n  - {{name: tor{rack}, {_ENGINE}, ports: [{own}, {{number: {100 * rack + 99}, name: up{rack}}}]}}"
        for rack, own in ports.items()
        if levels > 1
    )
    links = ", ".join(
        f"{{ends: [tor{rack}.up{rack}, root.rack{rack}], rate: 10 Gb/s, delay: 1 us}}"
        for rack in racks
        if levels > 1
    )
    workers = ", ".join(
        f"{{name: {cluster}-w{member}, port: {100 * rack + place}, ip: 10.0.{rack}.{place}}}"
        for rack, members in racks.items()
        for place, member in enumerate(members, start=1)
    )
    own = ports[1] if levels == 1 else "{numbers: 1-2, name: rack}"
    text = f"""
name: {name}
target: {target}
engines:
  - {{name: root, {_ENGINE}, address: 10.0.0.250,
     ports: [{own}, {{number: 3, name: ps, transport: {transport}}}]}}{below}
links: [{links}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: [{{name: {cluster}, workers: [{workers}], {shape}}}]
"""
    return load_testbed(f"{name}.yaml", text)


def list_events(total: int, hosts: int, *, kill: bool, late: bool) -> list[tuple[int, str, int]]:
    """Return after how many of ``total`` steps something happens to a host, and what: the second is killed
    after a quarter and begins again after half, the last one begins after a third."""
    found = [(total // 4, "kill", 1), (total // 2, "begin", 1)] if kill else []
    return sorted([*found, (total // 3, "begin", hosts - 1)] if late else found)
