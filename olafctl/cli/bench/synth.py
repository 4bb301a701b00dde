"""``olafctl bench synth``: what OlafQueue takes of an XCU55C."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafctl.cli.output import json_option, print_json
from olafctl.errors import EXIT_FAILED
from olafctl.wire.geometry import BEATS, CLUSTERS, SLOTS

if TYPE_CHECKING:
    from olafctl.bench.synthesis import Utilisation

PAPER_PERCENT = {"LUT": 3.52, "FF": 1.5}
GOAL_LEVELS = 12


@click.command()
@click.option("--clusters", default=CLUSTERS.default, show_default=True, help="Clusters the queue tracks.")
@click.option("--slots", default=SLOTS.default, show_default=True, help="Slots of the queue.")
@click.option(
    "--beats",
    multiple=True,
    type=int,
    default=(BEATS.default, BEATS.greatest),
    show_default=True,
    help="64-byte beats a slot holds: 24 for 1536 B, 142 for 9036 B; may be given several times.",
)
@click.option("--path", is_flag=True, help="Print the nets along the longest path too.")
@json_option("Print the figures as JSON.")
def command(clusters: int, slots: int, beats: tuple[int, ...], path: bool, as_json: bool) -> None:
    """Synthesize OlafQueue for an XCU55C with Yosys, and print what it takes and how deep its logic is.

    The paper's figures are shown next to ours. Logic levels are counted from register to register, two CARRY4
    in a row as the one CARRY8 they are on the device. Exits with 1 when the first geometry takes more
    than the paper's, its logic is deeper than 12 levels, or a path joins two of block memory read, adder
    stage and output ready.
    """
    from olafctl.bench.synthesis import synthesize
    from olafctl.wire.geometry import Geometry

    taken = [
        synthesize(
            Geometry(clusters=clusters, slots=slots, beats=each), lambda step: click.echo(step, err=True)
        )
        for each in beats
    ]
    missed = _missed(taken[0])
    if as_json:
        found = [asdict(one) for one in taken]
        print_json({"taken": found, "paper_percent": PAPER_PERCENT, "missed": missed})
    else:
        for one in taken:
            _print(one, path)
        for goal in missed:
            click.echo(f"missed: {goal}")
    if missed:
        raise SystemExit(EXIT_FAILED)


def _missed(first: "Utilisation") -> Sequence[str]:
    missed = [
        f"{first.percent(resource):.2f} % of the {resource}s, the paper's queue takes {paper} %"
        for resource, paper in PAPER_PERCENT.items()
        if first.percent(resource) > paper
    ]
    if first.levels > GOAL_LEVELS:
        missed.append(f"{first.levels} levels of logic, goal {GOAL_LEVELS}")
    missed += [f"{one.what}: from {one.source} to {one.end}" for one in first.crossings]
    return missed


def _print(taken: "Utilisation", path: bool) -> None:
    from olafctl.bench.synthesis import DEVICE

    click.echo(f"OlafQueue of {taken.geometry}")
    click.echo(f"  {'':<8}{'count':>10}{'of XCU55C':>12}{'paper':>10}")
    for resource in DEVICE:
        paper = f"{PAPER_PERCENT[resource]} %" if resource in PAPER_PERCENT else "–"
        count = getattr(taken, resource.lower())
        click.echo(f"  {resource:<8}{count:>10,}{taken.percent(resource):>10.2f} %{paper:>10}")
    click.echo(f"  of the LUTs {taken.lutram:,} are distributed memory; {taken.carry:,} CARRY4")
    click.echo(f"  longest path between registers: {taken.levels} levels of logic")
    if path:
        click.echo("    " + "\n    ".join(taken.path))
