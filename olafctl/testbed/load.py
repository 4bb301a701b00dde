"""From a testbed's YAML file to checked values, or every problem in it at once."""

from collections.abc import Sequence
from pathlib import Path

from olafctl.testbed import clusters, engine, hosts, limits, ports, quantities, routes, source
from olafctl.testbed.model import Mode, Testbed
from olafctl.testbed.source import Section
from olafctl.wire import layouts


def load(path: Path | str, text: str | None = None, *, targets: Sequence[str]) -> Testbed:
    """Read, check and expand a testbed: the file at ``path``, or ``text`` that was read from there before.

    ``targets`` are the names that its ``target`` may be.

    Raises BadInput with one problem a line (``file:line: field: what (remedy)``), all of them at once.
    """
    path = Path(path)
    text = source.text_of(path) if text is None else text
    report, top = source.read(path, text)
    name = top.value("name", quantities.name, _name_of(path))
    target = top.value("target", quantities.one_of(list(targets)), "twin")
    udp_port = top.value("udp_port", hosts.udp_port, layouts.UDP_PORT)
    control_tos = top.value("control_tos", _control_tos, layouts.CONTROL_TOS)
    queue = engine.read(top.section("engine"))
    front = ports.read(top)
    directory = hosts.Directory(report)
    servers = hosts.read_all(top, "parameter_servers", "ps", front, directory, udp_port)
    groups = clusters.read(top, queue, front, directory, udp_port)
    others = hosts.read_all(top, "hosts", "host", front, directory, udp_port)
    prefixes = routes.read(top, front, directory)
    top.close()
    testbed = Testbed(
        name=name,
        source=path,
        target=target,
        engine=queue,
        udp_port=udp_port,
        control_tos=control_tos,
        ports=front.all,
        parameter_servers=servers,
        clusters=groups,
        hosts=others,
        routes=prefixes,
        text=text,
    )
    _check_sizes(testbed, top)
    report.raise_any()
    return testbed


def _check_sizes(testbed: Testbed, top: Section) -> None:
    """What must be there, and what must fit the tables, counted over the whole testbed."""
    servers = len(testbed.parameter_servers)
    serverless = testbed.clusters and all(cluster.mode is Mode.ISWITCH for cluster in testbed.clusters)
    if servers == 0 and not serverless:
        top.report.add(
            top.place("parameter_servers"),
            "has no parameter server",
            "add one, such as - {port: 1, ip: 10.0.0.254}",
        )
    elif servers > limits.PARAMETER_SERVERS:
        top.report.add(
            top.place("parameter_servers"),
            f"{servers} parameter servers, but the table holds {limits.PARAMETER_SERVERS}",
            "take some out",
        )
    everyone = servers + len(testbed.workers) + len(testbed.hosts)
    for field, entries, table, size in (
        ("hosts", everyone + 1, "bridging", limits.BRIDGING),
        ("routes", everyone + len(testbed.routes), "forwarding", limits.FORWARDING),
    ):
        if entries > size:
            top.report.add(
                top.place(field), f"{entries} entries, but the table `{table}` holds {size}", "take some out"
            )


def _control_tos(text: str) -> int:
    value = quantities.whole(4, 255)(text)
    if value & 3:
        raise quantities.Unreadable(
            f"0x{value:02X} has ECN bits set, which routers change",
            f"clear the low two bits: 0x{value & 0xFC:02X}",
        )
    return value


def _name_of(path: Path) -> str:
    try:
        return quantities.name(path.stem)
    except quantities.Unreadable:
        return "testbed"
