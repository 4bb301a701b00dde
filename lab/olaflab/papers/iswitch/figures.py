"""iSwitch's figures (iSwitch §5, §6), and the measurements that they need."""

from collections.abc import Iterator
from pathlib import Path

from olaflab.model import iterations
from olaflab.papers import trivial
from olaflab.papers.figure import Effort, Figure, FigureCost, FigureTable, Points, Section
from olaflab.papers.iswitch import asynchronous, curves, hosts, scale, synchronous, wire

_CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(iterations.__file__))
_UPDATES, _ROUNDS = 2000, 5
"""Size of a measurement of hosts."""
_SUMS, _REPEATS = 10, 5
"""Rounds of a measurement between hosts."""


def figures() -> Iterator[Figure]:
    """Return all of iSwitch's figures."""
    yield Figure(
        "hosts", "What our hosts' software costs", _run_hosts, _hosts_section, cost=FigureCost.MACHINE
    )
    yield Figure(
        "wire", "Server, ring and engine between our hosts", _run_wire, _wire_section, cost=FigureCost.MACHINE
    )
    yield Figure(
        "synchronous",
        "Tables 3 and 4, figures 4 and 12: synchronous training",
        synchronous.measure_synchronous,
        synchronous.show_synchronous,
        synchronous.draw_iterations,
        size=(7, 4.2),
        code=_CODE,
        needs=("hosts", "wire"),
    )
    yield Figure(
        "asynchronous",
        "Tables 3 and 5: asynchronous training",
        asynchronous.measure_asynchronous,
        asynchronous.show_asynchronous,
        code=_CODE,
        needs=("hosts",),
    )
    yield Figure(
        "scale",
        "Figure 15: more workers",
        scale.measure_scale,
        scale.show_scale,
        scale.draw_scale,
        size=(6.4, 7.2),
        code=_CODE,
        needs=("hosts",),
    )
    yield Figure(
        "learning",
        "Figures 13 and 14: rewards over time",
        curves.run_learning,
        curves.show_learning,
        curves.draw_learning,
        FigureCost.TRAINING,
        (7, 9),
    )
    yield trivial.make_figure("CartPole", "Hopper", "HalfCheetah")


def _run_hosts(effort: Effort) -> Points:
    return hosts.measure_hosts(_UPDATES, effort.seed_count(_ROUNDS), effort.progress)


def _hosts_section(points: Points) -> Section:
    rows = [[values, f"{1e6 * seconds:.0f}"] for values, seconds in points["seconds"].items()]
    return Section({"hosts": FigureTable(points["machine"], ("values", "CPU µs of an update"), rows)})


def _run_wire(effort: Effort) -> Points:
    return wire.measure_wire(("twin", "software"), _SUMS, effort.seed_count(_REPEATS), effort.progress)


def _wire_section(points: Points) -> Section:
    return Section({"wire": synchronous.make_wire_table(points)})
