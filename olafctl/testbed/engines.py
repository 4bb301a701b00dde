"""The ``engine`` section, or ``engines`` for several: each with its own name, settings and ports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olafctl import quantities
from olafctl.membership.model import Host
from olafctl.testbed import engine, limits, ports
from olafctl.testbed.machines import Machines
from olafctl.testbed.model import TestbedEngine
from olafctl.testbed.ports import FrontPorts
from olafctl.testbed.source import Section, SourcePlace

_EACH = "give each of the engines its own"


@dataclass(frozen=True)
class Declared:
    """An engine and its place in the file."""

    engine: TestbedEngine
    place: SourcePlace
    address: SourcePlace


def read_engines(top: Section, machines: Machines) -> tuple[Sequence[Declared], FrontPorts]:
    """Return the engines, in the order of the file, and the ports of all of them; problems go to the
    report."""
    front = FrontPorts(top.report)
    if not top.has("engines"):
        section = top.section("engine")
        only = Declared(engine.read_engine(section, machines), section.own_place, section.place("address"))
        section.close()
        ports.read_ports(top, front, only.engine)
        return [only], front
    for field in ("engine", "ports"):
        if top.has(field):
            top.report.add(top.place(field), "stands next to engines", _EACH)
    declared: dict[str, Declared] = {}
    for position, entry in enumerate(top.sections("engines")):
        name = entry.required("name", quantities.name, f"engine{position}", "such as name: sw1")
        found = Declared(engine.read_engine(entry, machines, name), entry.own_place, entry.place("address"))
        ports.read_ports(entry, front, found.engine)
        entry.close()
        if name in declared:
            line = declared[name].place.line
            entry.report.add(
                entry.place("name"), f"the name {name!r} is already taken on line {line}", "rename one"
            )
        declared.setdefault(name, found)
    if not declared:
        top.report.add(top.place("engines"), "lists no engine", "list them, such as - {name: sw1, …}")
        declared["engine"] = Declared(
            engine.read_engine(Section(top.report, top.own_place, {}), Machines()), *[top.own_place] * 2
        )
        front.incomplete = True
    if len(declared) > limits.ENGINES:
        what = f"{len(declared)} engines, but there can be {limits.ENGINES}"
        top.report.add(top.place("engines"), what, "take some out")
    _check_modes(top, declared.values())
    return list(declared.values()), front


def find_root(
    top: Section, declared: Sequence[Declared], servers: Sequence[Host], front: FrontPorts
) -> TestbedEngine:
    """Return the engine in front of the parameter servers; without any, the engine to whose address members
    send."""
    engine_at = {port.number: port.engine for port in front.all}
    homes = {name for server in servers if (name := engine_at.get(server.port)) is not None}
    if len(homes) > 1:
        top.report.add(
            top.place("parameter_servers"),
            f"are at {_read_listed(homes)}, but updates have one way up",
            "attach all of them to one engine",
        )
    addressed = [one for one in declared if one.engine.address is not None]
    if homes:
        chosen = next(one.engine for one in declared if one.engine.name in homes)
        for one in addressed:
            if one.engine is not chosen and len(homes) == 1:
                what = f"members send to the root, which is {chosen.name}"
                top.report.add(one.address, what, f"give {chosen.name} the address")
        return chosen
    if len(declared) > 1 and len(addressed) != 1 and not front.incomplete:
        what = (
            "no parameter server and no engine with an address" if not addressed else "more than one address"
        )
        remedy = "give the engine at the top of the tree, and no other, an address"
        top.report.add(top.place("engines"), what, remedy)
    return (addressed or declared)[0].engine


def _check_modes(top: Section, declared: Iterable[Declared]) -> None:
    """Report default modes that differ in whether they sum: a sum passes every engine on its path."""
    modes = {one.engine.mode if one.engine.mode.sums else None: one.engine.mode for one in declared}
    if len(modes) > 1:
        mode = next(mode for mode in modes if mode is not None)
        what = f"mode {mode} of some engines only"
        top.report.add(top.place("engines"), what, f"say mode: {mode} of the clusters instead")


def _read_listed(names: Iterable[str]) -> str:
    *rest, last = sorted(names)
    return f"{', '.join(rest)} and {last}"
