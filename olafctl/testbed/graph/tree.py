"""The drawing's content: the engines as a tree from the root down, and the hosts behind each front port."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from olafctl.membership.model import Host
from olafctl.testbed.model import Port, Testbed, TestbedEngine, TestbedLink
from olafctl.testbed.topology import Topology

_NAMED = 3
"""The hosts of a port that are named; further hosts are counted."""
_FULL = 0.95
"""The share of a rate from which on it counts as full: counters are read at slightly different times."""


@dataclass(frozen=True)
class Rates:
    """The traffic of a port in a second, from the port's point of view."""

    frames_in: float
    bits_in: float
    frames_out: float
    bits_out: float


@dataclass(frozen=True)
class Behind:
    """A front port and the hosts behind it."""

    port: str
    hosts: tuple[str, ...]
    workers: int
    rates: Rates | None
    unplugged: bool
    """Whether the port's cable has no carrier."""


@dataclass(frozen=True)
class Cable:
    """The link of an engine to its parent."""

    rate: int | None
    delay: int
    rates: Rates | None
    """The rates at the lower engine's port."""

    @property
    def is_full(self) -> bool:
        """Whether updates fill the whole link."""
        return _fill_levels(self.rates.bits_out if self.rates else 0, self.rate)


@dataclass(frozen=True)
class TreeNode:
    """An engine with the nodes below it (``sources``, ``children``) and the root's above it (``sinks``)."""

    name: str
    slots: int
    output_rate: int | None
    sources: tuple[Behind, ...]
    """The front ports with workers, and at engines below the root all other front ports."""
    sinks: tuple[Behind, ...]
    """The root's front ports without workers: parameter servers and other hosts."""
    children: tuple["TreeNode", ...]
    cable: Cable | None
    """The link to the parent; None at the root."""
    occupancy: int | None = None
    """The slots that hold updates; None where this is not known."""
    away: bool = False
    """Whether the engine should run and does not answer."""

    @property
    def is_full(self) -> bool:
        """Whether the engine's output fills its whole rate."""
        ports = [port.rates for port in self.sinks] if self.cable is None else [self.cable.rates]
        return _fill_levels(sum(rates.bits_out for rates in ports if rates), self.output_rate)


def _fill_levels(bits: float, rate: int | None) -> bool:
    return rate is not None and bits >= _FULL * rate


Counts = Mapping[int, Mapping[str, int]]
"""Counters by name, for each port."""


def count_rates(before: Counts, after: Counts, seconds: float) -> Mapping[int, Rates]:
    """Return the traffic of each port a second between two readings."""
    found = {}
    for number, counters in after.items():
        grown = {name: (value - before[number][name]) / seconds for name, value in counters.items()}
        found[number] = Rates(
            grown["rx_frames"], grown["rx_bytes"] * 8, grown["tx_frames"], grown["tx_bytes"] * 8
        )
    return found


def make_tree(
    testbed: Testbed,
    rates: Mapping[int, Rates],
    occupancy: Mapping[str, int] | None = None,
    carriers: Mapping[str, bool] = MappingProxyType({}),
) -> TreeNode:
    """Return the engines of ``testbed``, from the root; ports that ``rates`` does not know have none.

    ``occupancy`` is that of the engines that answer; None where none is expected to. ``carriers`` comes from
    :meth:`olafctl.targets.interface.Running.stats`.
    """
    topology = Topology(testbed)
    engines = {engine.name: engine for engine in testbed.engines}

    def node(engine: TestbedEngine) -> TreeNode:
        ports = [
            _hosts_behind(testbed, port, rates.get(port.number), carriers.get(str(port.number)) is False)
            for port in testbed.ports
            if port.engine == engine.name
        ]
        root = engine is testbed.root
        return TreeNode(
            engine.name if len(testbed.engines) > 1 else testbed.name,
            engine.slots,
            engine.output_rate,
            sources=tuple(port for port in ports if port.workers or not root),
            sinks=tuple(port for port in ports if root and not port.workers),
            children=tuple(node(engines[child]) for child in topology.children[engine.name]),
            cable=None if root else _find_cable(topology.up[engine.name], rates),
            occupancy=None if occupancy is None else occupancy.get(engine.name),
            away=occupancy is not None and engine.name not in occupancy,
        )

    return node(testbed.root)


def name_hosts(behind: Behind) -> str:
    """Return a port's hosts in a few words: ``red0, red1, red2 and 24 more``."""
    shown = ", ".join(behind.hosts[:_NAMED]) or "no hosts"
    more = len(behind.hosts) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _hosts_behind(testbed: Testbed, port: Port, rates: Rates | None, unplugged: bool) -> Behind:
    workers: list[Host] = [worker for worker in testbed.workers if worker.port == port.number]
    others = [host for host in (*testbed.parameter_servers, *testbed.hosts) if host.port == port.number]
    hosts = tuple(host.name for host in (*others, *workers))
    return Behind(port.name, hosts, len(workers), rates, unplugged)


def _find_cable(link: TestbedLink, rates: Mapping[int, Rates]) -> Cable:
    return Cable(link.rate, link.delay, rates.get(link.port))
