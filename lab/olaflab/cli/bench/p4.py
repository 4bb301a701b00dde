"""``olaflab bench p4``: packets per second through compiled P4, and table entries per second into it."""

from pathlib import Path

import click

from olafswitch.console.output import json_option, log_progress, print_json, table


@click.command()
@click.option("--workers", type=click.IntRange(1, 60000), default=300, show_default=True, help="To know.")
@click.option("--bytes", "sizes", type=click.IntRange(64, 9600), multiple=True, default=(128, 1500, 9036),
              show_default=True, help="Frame length; may be given several times.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.05), default=1.0, show_default=True, help="Each.")
@click.option("--program", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="VNP4₁'s source, when not the installed one.")  # fmt: skip
@json_option("Print the figures as JSON.")
def command(
    workers: int, sizes: tuple[int, ...], seconds: float, program: Path | None, as_json: bool
) -> None:
    """Measure VNP4₁ in process, on one core.

    Updates come from all workers in turn; each is looked up and shimmed.
    """
    from olafctl import paths
    from olaflab.pipeline import p4 as bench

    source = program or paths.sources() / "p4src" / "vnp4_1.p4"
    switch, filled = bench.switch_with_workers(source, workers, log_progress)
    rows = []
    for size in sizes:
        log_progress(f"measuring {size}-byte frames")
        rows.append(bench.rate(switch, workers, size, seconds))
    if as_json:
        figures = [{"bytes": r.size, "packets_per_s": r.packets, "gbit_per_s": r.gigabits} for r in rows]
        print_json({"workers": workers, "entries_per_s": filled, "rates": figures})
        return
    rates = [(row.size, round(row.packets), round(row.gigabits, 2)) for row in rows]
    table(f"{workers} workers; {filled:,.0f} entries/s inserted", ("bytes", "packets/s", "Gb/s"), rates)
