"""``olaflab bench p4``: packets per second through compiled P4, and table entries per second into it."""

from pathlib import Path

from olaflab.verb import EXISTING_FILE, TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress


@verb()
def command(
    workers: int = option(300, "Number of workers in the tables.", least=1, most=60_000),
    sizes: tuple[int, ...] = option(
        (128, 1500, 9036), "Frame length; may be given several times.", "--bytes", least=64, most=9600
    ),
    seconds: float = option(1.0, "Seconds of each measurement.", least=0.05),
    program: Path | None = option(None, "VNP4₁'s source, when not the installed one.", type=EXISTING_FILE),
) -> VerbReport:
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
        rows.append(bench.measure_rate(switch, workers, size, seconds))
    figures = [{"bytes": r.size, "packets_per_s": r.packets, "gbit_per_s": r.gigabits} for r in rows]
    rates = [(row.size, round(row.packets), round(row.gigabits, 2)) for row in rows]
    title = f"{workers} workers; {filled:,.0f} entries/s inserted"
    return VerbReport(
        {"workers": workers, "entries_per_s": filled, "rates": figures},
        [TextTable(title, ("bytes", "packets/s", "Gb/s"), rates)],
    )
