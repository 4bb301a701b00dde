"""``olaflab bench failover``: two controllers, of which the leader is killed or loses etcd."""

from dataclasses import asdict

from olaflab.verb import VerbReport, option, verb
from olafswitch.console.output import log_progress


@verb()
def command(
    kills: int = option(5, "Kills of the leader, by SIGKILL.", least=0),
    cuts: int = option(5, "Cuts of the leader's connection to etcd.", least=0),
    losses: int = option(0, "Losses of a member of etcd, which then has three of them.", least=0),
    changes: int = option(100, "Least number of changes acknowledged before each of them.", least=1),
) -> VerbReport:
    """Measure how soon a second controller takes over.

    Needs etcd. Looks for lost changes too. Exit code 1 when an acknowledged change is missing, or the devices
    do not have the new leader.
    """
    from olaflab.daemon.failover import run_failover

    report = run_failover(kills, cuts, losses, changes, log_progress)
    lines = (
        f"served again after a kill: {_format_seconds(report.served_after_kill)}",
        f"served again after a cut: {_format_seconds(report.served_after_cut)}",
        f"last change before the lease's end: {_format_seconds(report.stopped_before_lease)} earlier",
        ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items())),
        f"{len(report.lost)} workers whose answers no order explains",
    )
    other = () if report.primary else ("the devices have another primary",)
    return VerbReport(asdict(report), lines, [*report.lost, *other])


def _format_seconds(times: list[float]) -> str:
    return f"{min(times)} … {max(times)} s" if times else "not tried"
