"""``olaflab bench synth``: OlafQueue's use of an XCU55C."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafctl.wire.geometry import BEATS, Geometry
from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress

if TYPE_CHECKING:
    from olaftest.queue.synthesis import Utilisation

PAPER_PERCENT = {"LUT": 3.52, "FF": 1.5}
GOAL_PERCENT = {"LUT": 1.35, "FF": 0.8}
"""With the staleness rule and numbered sums, which came after 1.3 and 0.75 %."""
GOAL_LEVELS = 11
BOX_LEVELS = 10
LARGE_GOAL_LEVELS = 12
"""Limit for a queue with more indices than the default: its tables are read through more levels."""


@verb("Print the figures as JSON, with the nets along the longest path.")
def command(
    indices: int | None = option(None, "Indices the queue tracks."),
    slots: int | None = option(None, "Slots of the queue."),
    beats: int | None = option(None, "64-byte beats a slot holds: 24 for 1536 B, 142 for 9088 B."),
    box: bool = option(False, "Instead: OpenNIC's user box around OlafQueue, and its two P4 blocks."),
    macs: int | None = option(None, "With --box: Corundum's of so many MACs at 10G, small.", least=1, most=4),
) -> VerbReport:
    """Synthesize OlafQueue for an XCU55C with Yosys: size and depth.

    Without a geometry: the default one, the default one with jumbo slots, and 1024 indices with 512 jumbo
    slots in UltraRAM. The paper's figures are shown next to ours. Logic levels are counted from register to
    register, two CARRY4 in a row as the one CARRY8 they are on the device. With --box the user box of two
    ports, with OlafQueue and the blocks as black boxes, and each block; with --macs too, Corundum's block
    with streams of 64 bits, and tables of 1,024 entries in block RAM.

    Exit code 1 when the default geometry takes more than its goals, logic is deeper than 11 levels (12 with
    more indices than the default), a path joins two of block memory read, adder stage and output ready, or
    box and blocks are larger than the paper's OlafQueue with its IPs or deeper than 10 levels. Needs the
    extra [synth].
    """
    given = {"indices": indices, "slots": slots, "beats": beats}
    chosen = {name: value for name, value in given.items() if value is not None}
    if box and chosen:
        raise click.UsageError(f"--{min(chosen)} goes without --box")
    if macs and not box:
        raise click.UsageError("--macs goes with --box")
    if box:
        return _synthesize_box(macs)
    from olafswitch.simulation.mapping import mapper_version
    from olaftest.queue.synthesis import synthesize_queue

    geometries = [Geometry(**chosen)]
    if not chosen:
        most = BEATS.greatest
        geometries += [Geometry(beats=most), Geometry(indices=1024, slots=512, beats=most)]
    taken = [synthesize_queue(geometry, log_progress) for geometry in geometries]
    missed = [goal for one in taken for goal in _find_missed(one)]
    found = [asdict(one) for one in taken]
    document = {"yosys": mapper_version(), "taken": found, "paper_percent": PAPER_PERCENT, "missed": missed}
    return VerbReport(
        document, [f"mapped by {mapper_version()}", *(p for one in taken for p in _report_parts(one))], missed
    )


def _synthesize_box(macs: int | None) -> VerbReport:
    from olaflab.opennic.box_synthesis import BLOCKS, BOX, PAPER, SMALL_BOX, synthesize_box

    parts = []
    for part in (SMALL_BOX if macs else BOX, *BLOCKS):
        log_progress(f"synthesizing {part}")
        parts.append(synthesize_box(part, macs))
    missed = [
        f"{one.part}: {one.levels} levels of logic, goal {BOX_LEVELS}"
        for one in parts
        if one.levels > BOX_LEVELS
    ]
    for name, most in ({} if macs else PAPER).items():
        if (total := sum(one.percent(name) for one in parts)) > most:
            missed.append(f"{total:.2f} % of the {name}s, goal {most} %")
    names = list(parts[0].counts)
    rows = [
        (one.part, *(f"{one.counts[name]:,} ({one.percent(name):.2f} %)" for name in names), one.levels)
        for one in parts
    ]
    document = {"parts": [asdict(one) for one in parts], "paper_percent": PAPER, "missed": missed}
    return VerbReport(document, [TextTable("without OlafQueue", ("", *names, "levels"), rows)], missed)


def _find_missed(taken: "Utilisation") -> Sequence[str]:
    missed = [
        f"{taken.percent_of(resource):.2f} % of the {resource}s, goal {goal} %"
        for resource, goal in (GOAL_PERCENT if taken.geometry == Geometry() else {}).items()
        if taken.percent_of(resource) > goal
    ]
    most = GOAL_LEVELS if taken.geometry.indices <= Geometry().indices else LARGE_GOAL_LEVELS
    if taken.levels > most:
        missed.append(f"{taken.levels} levels of logic, goal {most}")
    for what, ends in Counter(one.what for one in taken.crossings).items():
        example = next(one for one in taken.crossings if one.what == what)
        missed.append(f"{ends} paths from {what}, such as {example.source} to {example.end}")
    return missed


def _report_parts(taken: "Utilisation") -> list[str | TextTable]:
    from olafswitch.simulation.mapping import DEVICE

    rows = [
        (
            name,
            f"{getattr(taken, name.lower()):,}",
            round(taken.percent_of(name), 2),
            PAPER_PERCENT.get(name, "–"),
        )
        for name in DEVICE
    ]
    return [
        TextTable(f"OlafQueue of {taken.geometry}", ("", "count", "% of XCU55C", "paper"), rows),
        f"  of the LUTs {taken.lutram:,} are distributed memory; {taken.carry:,} CARRY4",
        f"  longest path between registers: {taken.levels} levels of logic",
        f"  {len(taken.crossings) or 'no'} paths join two of block memory read, adder stage and output ready",
    ]
