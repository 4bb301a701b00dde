"""The ``links`` section: the cables between engines, which make a tree, and those at front ports."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from olafctl.membership.limits import CHILDREN
from olafctl.membership.model import Host
from olafctl.quantities import duration, quoted, rate, whole
from olafctl.testbed import limits
from olafctl.testbed.engines import Declared
from olafctl.testbed.model import TestbedEngine, TestbedLink
from olafctl.testbed.ports import FrontPorts
from olafctl.testbed.source import Section, SourcePlace

_ENDS = "give two, such as ends: [sw1.up, sw2.down]"
_END_REMEDY = "name ENGINE.PORT, or a host for a front port's cable"
_DELAY = 1_000
_QUEUE = 1_000


@dataclass(frozen=True)
class _Half:
    """A front port's cable whose host is looked up once the hosts are known."""

    link: TestbedLink
    place: SourcePlace
    host: str


class Links:
    """The links read so far. Those between engines have no direction until the root is known."""

    def __init__(self, engines: Sequence[Declared], ports: FrontPorts) -> None:
        self._engines = engines
        self._ports = ports
        self._engine_at: dict[int, str] = {}
        self._trunks: list[TestbedLink] = []
        self._halves: list[_Half] = []
        self._lines: dict[int, int] = {}
        """The line of the link that has each port."""
        self._joined = {one.engine.name: one.engine.name for one in engines}
        """Each engine's link towards the engine that stands for all that it is joined to."""
        self._machine_of = {one.engine.name: one.engine.machine for one in engines}
        self.incomplete = False

    def read(self, top: Section) -> None:
        """Read the ``links`` field of the whole testbed; problems go to its report."""
        for entry in top.sections("links"):
            self._read_entry(entry)

    def resolved(self, root: TestbedEngine, hosts: Sequence[Host], top: Section) -> tuple[TestbedLink, ...]:
        """Return all links, those between engines from the lower one to the one nearer to ``root``."""
        up: list[TestbedLink] = []
        reached = [root.name]
        for name in reached:
            for link in self._trunks:
                here, there = self._engine_at[link.port], self._engine_at[link.peer or 0]
                if name == there and here not in reached:
                    up.append(link)
                    reached.append(here)
                elif name == here and there not in reached:
                    up.append(replace(link, port=link.peer or 0, peer=link.port))
                    reached.append(there)
        before = len(top.report.problems)
        at_hosts = self._at_hosts(hosts, top)
        self.incomplete |= self._ports.incomplete or len(top.report.problems) > before
        for one in self._engines:
            if one.engine.name not in reached and not self.incomplete:
                what = f"{one.engine.name} has no way to {root.name}, where the updates go"
                top.report.add(one.place, what, "link it to an engine that has one")
        below = Counter(self._engine_at[link.peer or 0] for link in up)
        for name, children in below.items():
            if children > CHILDREN:
                what = f"{children} engines right below {name}, but there can be {CHILDREN}"
                top.report.add(top.place("links"), what, "put engines in between")
        return (*up, *at_hosts)

    def ordered(self, root: TestbedEngine, links: Sequence[TestbedLink]) -> tuple[TestbedEngine, ...]:
        """Return the engines but the root, each behind its parent, as :meth:`resolved` found them."""
        named = {one.engine.name: one.engine for one in self._engines}
        return tuple(named[self._engine_at[link.port]] for link in links if link.peer is not None)

    def _read_entry(self, entry: Section) -> None:
        before = len(entry.report.problems)
        ends = entry.texts("ends")
        if len(ends) != 2:
            entry.report.add(entry.place("ends"), f"has {len(ends)} ends" if ends else "is missing", _ENDS)
        cable = TestbedLink(
            port=0,
            peer=None,
            rate=entry.value("rate", rate(limits.MIN_RATE, limits.MAX_RATE), None),
            delay=entry.value("delay", duration(limits.MIN_DELAY, limits.MAX_DELAY), _DELAY),
            queue=entry.value("queue", whole(1, limits.LINK_QUEUE), _QUEUE),
        )
        entry.close()
        if len(ends) == 2:
            self._join(entry, ends, cable)
        self.incomplete |= len(entry.report.problems) > before

    def _join(self, entry: Section, ends: Sequence[tuple[SourcePlace, str]], cable: TestbedLink) -> None:
        found = [self._port(text) for _, text in ends]
        if None not in found:
            first, second = (one for one in found if one is not None)
            if first[0] == second[0]:
                entry.report.add(entry.place("ends"), f"joins {first[0]} to itself", "name two engines")
                return
            leaves = self._machine_of[first[0]] != self._machine_of[second[0]]
            if leaves:
                _check_real(entry)
            numbers = [
                self._taken(entry, place, *end, leaves=leaves)
                for (place, _), end in zip(ends, (first, second), strict=True)
            ]
            if None in numbers:
                return
            if self._stands_for(first[0]) == self._stands_for(second[0]):
                what = f"closes a loop: {first[0]} and {second[0]} are already joined"
                entry.report.add(entry.own_place, what, "take one of the links out: engines make a tree")
                return
            self._joined[self._stands_for(first[0])] = self._stands_for(second[0])
            self._trunks.append(replace(cable, port=numbers[0] or 0, peer=numbers[1]))
            return
        if found == [None, None]:
            entry.report.add(entry.place("ends"), "names no engine", _END_REMEDY)
            return
        here = 0 if found[1] is None else 1
        end = found[here]
        assert end is not None
        number = self._taken(entry, ends[here][0], *end, trunk=False)
        if number is not None:
            self._halves.append(_Half(replace(cable, port=number), *ends[1 - here]))

    def _port(self, text: str) -> tuple[str, str] | None:
        """Return ``engine.port`` as its two parts; None when the engine does not exist."""
        names = sorted((one.engine.name for one in self._engines), key=len, reverse=True)
        for name in names:
            if text.startswith(f"{name}."):
                return name, text[len(name) + 1 :]
        return None

    def _taken(
        self,
        entry: Section,
        place: SourcePlace,
        engine: str,
        text: str,
        *,
        trunk: bool = True,
        leaves: bool = False,
    ) -> int | None:
        """Take a port that no other link has, and return its number; None (reported) when there is none."""
        port = self._ports.of_engine(engine, text)
        if port is None:
            if not self._ports.incomplete:
                what = f"{engine} has no port {quoted(text)}"
                entry.report.add(place, what, f"declare it under {engine}'s ports")
            return None
        if port.number in self._lines:
            what = f"port {engine}.{text} is already the link's on line {self._lines[port.number]}"
            entry.report.add(place, what, "each port has one cable")
            return None
        self._lines[port.number] = place.line
        self._engine_at[port.number] = engine
        if trunk:
            self._ports.make_trunk(port, place, leaves=leaves)
        return port.number

    def _at_hosts(self, hosts: Sequence[Host], top: Section) -> list[TestbedLink]:
        named = {host.name: host for host in hosts}
        found = []
        for half in self._halves:
            host = named.get(half.host)
            if host is None:
                what = f"{quoted(half.host)} is neither an engine's port nor a host"
                top.report.add(half.place, what, _END_REMEDY)
            elif host.port not in (0, half.link.port):
                what = f"{host.name} is at port {host.port}, not at port {half.link.port}"
                top.report.add(half.place, what, "name the port that the host names")
            else:
                found.append(half.link)
        return found

    def _stands_for(self, engine: str) -> str:
        while self._joined[engine] != engine:
            engine = self._joined[engine]
        return engine


def _check_real(entry: Section) -> None:
    """Report rates, delays and queues of a cable between machines, which has its own."""
    for field in ("rate", "delay", "queue"):
        if entry.has(field):
            what = "is of a simulated cable, and this one joins two machines"
            entry.report.add(entry.place(field), what, "take it out; tc on the interface makes a link slower")
