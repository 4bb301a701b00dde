"""``olafctl bench numbered``: numbered sums of mode iswitch-async over links that lose and double frames."""

from dataclasses import asdict

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

WAYS = (("one engine", 4, 0), ("two levels", 4, 2))
"""Name, members, and engines below the root."""


@click.command()
@click.option(
    "--contributions", type=click.IntRange(1), default=100_000, show_default=True, help="Of each run."
)
@click.option(
    "--chance", type=click.FloatRange(0, 0.5), default=0.05, show_default=True,
    help="Of a frame to be lost on a link, and to be doubled.",
)  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Which frames.")
@json_option("Print the figures as JSON.")
def command(contributions: int, chance: float, seed: int, as_json: bool) -> None:
    """Run numbered sums over links that lose, double and reorder.

    Four members send random contributions to the real Verilog, Verilated: to one engine, and to two below
    another. Exit code 1 when a result is not the exact sum of H distinct contributions, when their numbers
    have a gap, or when members have different results.
    """
    from olafctl.queue.verilate import build_queue
    from olaflab.queue import numbered

    library = build_queue(numbered.GEOMETRY, log_progress)
    found = {}
    for name, members, racks in WAYS:
        log_progress(f"{contributions} contributions, {name}")
        found[name] = numbered.run(library, members, racks, contributions, chance, seed)
    if as_json:
        print_json({name: asdict(figures) for name, figures in found.items()})
        return
    shown = ("contributions", "sent", "lost", "doubled", "taken", "results", "helped", "void")
    rows = [(name, *(getattr(found[way], name) for way in found)) for name in shown]
    for name in sorted({name for figures in found.values() for name in figures.counters}):
        rows.append((name, *(figures.counters.get(name, 0) for figures in found.values())))
    table("numbered sums: every result exact, none twice, no gap", ("", *found), rows)
