"""Load a testbed's YAML file as checked values, or report every problem in it at once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from olafctl import quantities
from olafctl.membership import limits, rules
from olafctl.membership.model import Host
from olafctl.testbed import clusters, engines, hosts, routes, source
from olafctl.testbed.engines import Declared
from olafctl.testbed.ground import make_ground
from olafctl.testbed.links import Links
from olafctl.testbed.machines import Machines
from olafctl.testbed.model import BlockKind, Testbed, TestbedEngine
from olafctl.testbed.source import ProblemReport, Section
from olafctl.wire import layouts

_FIELDS = {"workers": "clusters", "forwarding": "routes", "bridging": "hosts"}
"""The section with more entries than a table holds."""


def load_testbed(path: Path | str, text: str | None = None, *, targets: Sequence[str]) -> Testbed:
    """Read, check and expand a testbed: the file at ``path``, or ``text`` that was read from there before.

    ``targets`` are the permitted names of its ``target``. Raises BadInput with one problem a line
    (``file:line: field: what (remedy)``), all of them at once.
    """
    path = Path(path)
    text = source.text_of(path) if text is None else text
    report, top = source.read_source(path, text)
    name = top.value("name", quantities.name, _name_of(path))
    target = top.value("target", quantities.one_of(list(targets)), "twin")
    blocks = top.value("blocks", _read_blocks, BlockKind.RTL)
    udp_port = top.value("udp_port", hosts.udp_port, layouts.UDP_PORT)
    control_tos = top.value("control_tos", _control_tos, layouts.CONTROL_TOS)
    machines = Machines()
    machines.read(top)
    declared, front = engines.read_engines(top, machines)
    cables = Links(declared, front)
    cables.read(top)
    directory = hosts.Directory(report)
    servers = hosts.read_all(top, "parameter_servers", "ps", front, directory, udp_port)
    root = engines.find_root(top, declared, servers, front)
    everywhere = _common_engine([one.engine for one in declared], root)
    engine_at = {port.number: port.engine for port in front.all} if len(declared) > 1 else {}
    groups, entries = clusters.read_clusters(
        top, everywhere, front, directory, udp_port, lambda port: engine_at.get(port, name)
    )
    others = hosts.read_all(top, "hosts", "host", front, directory, udp_port)
    prefixes = routes.read_routes(top, front, directory)
    workers = [worker for cluster in groups for worker in cluster.workers]
    links = cables.resolved(root, [*servers, *workers, *others], top)
    top.close()
    testbed = Testbed(
        name=name,
        source=path,
        target=target,
        engines=(root, *cables.ordered(root, links)),
        udp_port=udp_port,
        control_tos=control_tos,
        ports=front.all,
        parameter_servers=servers,
        clusters=groups,
        hosts=others,
        routes=prefixes,
        links=links,
        trunks=front.trunks,
        blocks=blocks,
        machines=machines.all,
        text=text,
    )
    _check_servers(testbed, top)
    if not report.problems:
        machines.check_used((one.engine for one in declared), report)
    places = [one.engine.machine for one in declared]
    if any(one.engine.shards > 1 and places.count(one.engine.machine) > 1 for one in declared):
        why = "take shards out: engines of one machine share a thread"
        top.report.add(top.place("engines"), "an engine that is not alone on its machine has shards", why)
    _check_own_addresses(declared, directory, report)
    _check_reserved(declared, [*servers, *workers, *others], directory, report)
    # Faults elsewhere may leave no tree.
    whole = testbed if not report.problems else replace(testbed, engines=(root,), links=())
    clusters.check_clusters(groups, entries, make_ground(whole))
    _check_tables(whole, top)
    report.raise_any()
    return testbed


def _common_engine(all_of_them: Sequence[TestbedEngine], root: TestbedEngine) -> TestbedEngine:
    """Return the root, limited to what fits every engine: a cluster has the same indices, and frames of the
    same size, in each engine."""
    return replace(
        root,
        indices=min(engine.indices for engine in all_of_them),
        beats=min(engine.beats for engine in all_of_them),
    )


def _check_servers(testbed: Testbed, top: Section) -> None:
    """Report when no parameter server exists, or more than their table holds."""
    servers = len(testbed.parameter_servers)
    serverless = testbed.clusters and all(testbed.root.mode_of(cluster).sums for cluster in testbed.clusters)
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


def _check_tables(testbed: Testbed, top: Section) -> None:
    for problem in rules.of_tables(make_ground(testbed), len(testbed.clusters), len(testbed.workers)):
        field = _FIELDS[problem.where]
        top.report.add(top.place(field), problem.what, "take some out")


def _check_own_addresses(
    declared: Sequence[Declared], directory: hosts.Directory, report: ProblemReport
) -> None:
    """Report an engine's address that a host has: its frames and results must be the engine's alone."""
    for one in declared:
        address = one.engine.address
        if address is not None and (owner := directory.has_address(address)):
            line = directory.place_of(address).line
            what = f"{address} is already taken by {owner} on line {line}"
            report.add(one.address, what, "give the engine an address of its own")


def _check_reserved(
    declared: Sequence[Declared], everyone: Sequence[Host], directory: hosts.Directory, report: ProblemReport
) -> None:
    """Report addresses that engines use among themselves, which VNP4₁ believes of nothing else."""
    taken = [(one.engine.name, one.engine.address, one.address) for one in declared if one.engine.address]
    taken += [
        (host.name, host.ip, directory.place_of(host.ip)) for host in everyone if not host.ip.is_unspecified
    ]
    for name, address, place in taken:
        if address in limits.BETWEEN_ENGINES:
            what = f"{name} has {address}, and engines use {limits.BETWEEN_ENGINES} among themselves"
            report.add(place, what, "give it another address")


def _read_blocks(text: str) -> BlockKind:
    return BlockKind(quantities.one_of([each.value for each in BlockKind])(text))


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
