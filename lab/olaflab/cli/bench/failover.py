"""``olaflab bench failover``: two controllers, of which the leader is killed or loses etcd."""

from dataclasses import asdict

import click

from olafswitch.console.output import json_option, log_progress, show


@click.command()
@click.option(
    "--kills", type=click.IntRange(0), default=5, show_default=True, help="Of the leader, by SIGKILL."
)
@click.option("--cuts", type=click.IntRange(0), default=5, show_default=True,
              help="Of the leader's connection to etcd.")  # fmt: skip
@click.option("--losses", type=click.IntRange(0), default=0, show_default=True,
              help="Of a member of etcd, which then has three of them.")  # fmt: skip
@click.option("--changes", type=click.IntRange(1), default=100, show_default=True,
              help="Acknowledged before each of them, at least.")  # fmt: skip
@json_option("Print the figures as JSON.")
def command(kills: int, cuts: int, losses: int, changes: int, as_json: bool) -> None:
    """Measure how soon a second controller takes over.

    Needs etcd. Looks for lost changes too. Exit code 1 when an acknowledged change is missing, or the devices
    do not have the new leader.
    """
    from olaflab.daemon.failover import run
    from olafswitch.errors import OlafError

    report = run(kills, cuts, losses, changes, log_progress)
    lines = (
        f"served again after a kill: {_seconds(report.served_after_kill)}",
        f"served again after a cut: {_seconds(report.served_after_cut)}",
        f"last change before the lease's end: {_seconds(report.stopped_before_lease)} earlier",
        ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items())),
        f"{len(report.lost)} workers whose answers no order explains",
    )
    show(asdict(report), "\n".join(lines), as_json)
    if report.lost or not report.primary:
        raise OlafError(*report.lost, *(() if report.primary else ("the devices have another primary",)))


def _seconds(times: list[float]) -> str:
    return f"{min(times)} … {max(times)} s" if times else "not tried"
