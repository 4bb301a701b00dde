"""``olaflab bench interrupts``: long commands, interrupted at random moments."""

from olaflab.verb import Report, option, verb
from olafswitch.console.output import log_progress


@verb("Print the report as JSON.")
def command(
    count: int = option(200, "Number of commands.", least=1),
    seed: int = option(1, "Random seed of commands, signals and moments."),
) -> Report:
    """Interrupt long commands and look for what they leave.

    By SIGINT, as a terminal does, or SIGTERM. Exit code 1 when a process, an interface or a half-written
    file is left.
    """
    from olaflab.daemon.interrupts import sweep

    report = sweep(count, seed, log_progress)
    text = f"{sum(report.interrupted.values())} commands interrupted, {len(report.left)} left something"
    return Report({"interrupted": dict(report.interrupted), "left": report.left}, [text], report.left)
