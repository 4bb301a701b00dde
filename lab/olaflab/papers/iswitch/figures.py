"""iSwitch's figures (iSwitch §5, §6), and the measurements that they need."""

from collections.abc import Iterator
from pathlib import Path

from olaflab.model import iterations
from olaflab.papers.figure import Cost, Effort, Figure, Points, Section, Table
from olaflab.papers.iswitch import asynchronous, curves, hosts, scale, synchronous, wire

_CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(iterations.__file__))
_UPDATES, _ROUNDS = 2000, 5
"""Size of a measurement of hosts."""
_SUMS, _REPEATS = 10, 5
"""Rounds of a measurement between hosts."""


def figures() -> Iterator[Figure]:
    """Return all of iSwitch's figures."""
    yield Figure("hosts", "What our hosts' software costs", _hosts, _hosts_section, cost=Cost.MACHINE)
    yield Figure("wire", "Server, ring and engine between our hosts", _wire, _wire_section, cost=Cost.MACHINE)
    yield Figure(
        "synchronous",
        "Tables 3 and 4, figures 4 and 12: synchronous training",
        synchronous.measure,
        synchronous.section,
        synchronous.draw,
        size=(7, 4.2),
        code=_CODE,
        needs=("hosts", "wire"),
    )
    yield Figure(
        "asynchronous",
        "Tables 3 and 5: asynchronous training",
        asynchronous.measure,
        asynchronous.section,
        code=_CODE,
        needs=("hosts",),
    )
    yield Figure(
        "scale",
        "Figure 15: more workers",
        scale.measure,
        scale.section,
        scale.draw,
        size=(6.4, 7.2),
        code=_CODE,
        needs=("hosts",),
    )
    yield Figure(
        "learning",
        "Figures 13 and 14: rewards over time",
        curves.run,
        curves.section,
        curves.draw,
        Cost.TRAINING,
        (7, 9),
    )


def _hosts(effort: Effort) -> Points:
    return hosts.measure(_UPDATES, effort.number(_ROUNDS), effort.progress)


def _hosts_section(points: Points) -> Section:
    rows = [[values, f"{1e6 * seconds:.0f}"] for values, seconds in points["seconds"].items()]
    return Section({"hosts": Table(points["machine"], ("values", "CPU µs of an update"), rows)})


def _wire(effort: Effort) -> Points:
    return wire.measure(("twin", "software"), _SUMS, effort.number(_REPEATS), effort.progress)


def _wire_section(points: Points) -> Section:
    return Section({"wire": synchronous.wired(points)})
