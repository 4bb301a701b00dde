"""``olaflab bench synth``: what OlafQueue takes of an XCU55C."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafctl.wire.geometry import BEATS, Geometry
from olafswitch.console.output import json_option
from olafswitch.errors import EXIT_FAILED

if TYPE_CHECKING:
    from olaflab.queue.synthesis import Utilisation

PAPER_PERCENT = {"LUT": 3.52, "FF": 1.5}
GOAL_PERCENT = {"LUT": 1.35, "FF": 0.8}
"""With the staleness rule and numbered sums, which came after 1.3 and 0.75 %."""
GOAL_LEVELS = 11
BOX_LEVELS = 10
LARGE_GOAL_LEVELS = 12
"""Of a queue with more indices than the default: its tables are read through more levels."""


@click.command()
@click.option("--indices", type=int, help="Indices the queue tracks.")
@click.option("--slots", type=int, help="Slots of the queue.")
@click.option("--beats", type=int, help="64-byte beats a slot holds: 24 for 1536 B, 142 for 9088 B.")
@click.option("--path", is_flag=True, help="Print the nets along the longest path too.")
@click.option(
    "--box", is_flag=True, help="Instead: OpenNIC's user box around OlafQueue, and its two P4 blocks."
)
@json_option("Print the figures as JSON.")
def command(
    indices: int | None, slots: int | None, beats: int | None, path: bool, box: bool, as_json: bool
) -> None:
    """Synthesize OlafQueue for an XCU55C with Yosys: size and depth.

    Without a geometry: the default one, the default one with jumbo slots, and 1024 indices with 512 jumbo
    slots in UltraRAM. The paper's figures are shown next to ours. Logic levels are counted from register to
    register, two CARRY4 in a row as the one CARRY8 they are on the device. With --box the user box of two
    ports, with OlafQueue and the blocks as black boxes, and each block.

    Exit code 1 when the default geometry takes more than its goals, logic is deeper than 11 levels (12 with
    more indices than the default), a path joins two of block memory read, adder stage and output ready, or
    box and blocks are larger than the paper's OlafQueue with its IPs or deeper than 10 levels. Needs the
    extra [synth].
    """
    if box:
        _box(path, as_json)
        return
    from olaflab.queue.synthesis import synthesize, version

    given = {"indices": indices, "slots": slots, "beats": beats}
    chosen = {name: value for name, value in given.items() if value is not None}
    geometries = [Geometry(**chosen)]
    if not chosen:
        geometries += [
            Geometry(beats=BEATS.greatest),
            Geometry(indices=1024, slots=512, beats=BEATS.greatest),
        ]
    taken = [synthesize(geometry, lambda step: click.echo(step, err=True)) for geometry in geometries]
    missed = [goal for one in taken for goal in _missed(one)]
    if as_json:
        found = [asdict(one) for one in taken]
        report = {"yosys": version(), "taken": found, "paper_percent": PAPER_PERCENT, "missed": missed}
        click.echo(json.dumps(report, indent=2))
    else:
        click.echo(f"mapped by {version()}")
        for one in taken:
            _print(one, path)
        for goal in missed:
            click.echo(f"missed: {goal}")
    if missed:
        raise SystemExit(EXIT_FAILED)


def _box(path: bool, as_json: bool) -> None:
    from olaflab.opennic.box_synthesis import BLOCKS, BOX, PAPER, synthesize

    parts = []
    for part in (BOX, *BLOCKS):
        click.echo(f"synthesizing {part}", err=True)
        parts.append(synthesize(part))
    missed = [
        f"{one.part}: {one.levels} levels of logic, goal {BOX_LEVELS}"
        for one in parts
        if one.levels > BOX_LEVELS
    ]
    for name, most in PAPER.items():
        if (total := sum(one.percent(name) for one in parts)) > most:
            missed.append(f"{total:.2f} % of the {name}s, goal {most} %")
    if as_json:
        report = {"parts": [asdict(one) for one in parts], "paper_percent": PAPER, "missed": missed}
        click.echo(json.dumps(report, indent=2))
    else:
        names = list(parts[0].counts)
        click.echo(f"{'without OlafQueue':<18}" + "".join(f"{name:>17}" for name in names) + f"{'levels':>8}")
        for one in parts:
            shares = (f"{one.counts[name]:,} ({one.percent(name):.2f} %)" for name in names)
            click.echo(f"{one.part:<18}" + "".join(f"{share:>17}" for share in shares) + f"{one.levels:>8}")
            if path:
                click.echo("    " + "\n    ".join(one.path))
        for goal in missed:
            click.echo(f"missed: {goal}")
    if missed:
        raise SystemExit(EXIT_FAILED)


def _missed(taken: "Utilisation") -> Sequence[str]:
    missed = [
        f"{taken.percent(resource):.2f} % of the {resource}s, goal {goal} %"
        for resource, goal in (GOAL_PERCENT if taken.geometry == Geometry() else {}).items()
        if taken.percent(resource) > goal
    ]
    most = GOAL_LEVELS if taken.geometry.indices <= Geometry().indices else LARGE_GOAL_LEVELS
    if taken.levels > most:
        missed.append(f"{taken.levels} levels of logic, goal {most}")
    for what, ends in Counter(one.what for one in taken.crossings).items():
        example = next(one for one in taken.crossings if one.what == what)
        missed.append(f"{ends} paths from {what}, such as {example.source} to {example.end}")
    return missed


def _print(taken: "Utilisation", path: bool) -> None:
    from olaflab.queue.synthesis import DEVICE

    click.echo(f"OlafQueue of {taken.geometry}")
    click.echo(f"  {'':<8}{'count':>10}{'of XCU55C':>12}{'paper':>10}")
    for resource in DEVICE:
        paper = f"{PAPER_PERCENT[resource]} %" if resource in PAPER_PERCENT else "–"
        count = getattr(taken, resource.lower())
        click.echo(f"  {resource:<8}{count:>10,}{taken.percent(resource):>10.2f} %{paper:>10}")
    click.echo(f"  of the LUTs {taken.lutram:,} are distributed memory; {taken.carry:,} CARRY4")
    click.echo(f"  longest path between registers: {taken.levels} levels of logic")
    joined = len(taken.crossings) or "no"
    click.echo(f"  {joined} paths join two of block memory read, adder stage and output ready")
    if path:
        click.echo("    " + "\n    ".join(taken.path))
