"""``olaflab bench control``: the daemon with thousands of members, under kills, and over machines."""

from collections.abc import Mapping
from dataclasses import asdict

from olaflab.verb import VerbReport, option, verb
from olafswitch.console.output import log_progress


@verb()
def command(
    members: int = option(10_000, "Members in all before the joins.", least=1, most=12_000),
    clusters: int = option(1000, "Clusters over which members are dealt.", least=1, most=1000),
    joins: int = option(500, "Joins in turn; then four times as many.", least=1),
    chaos: int | None = option(
        None, "Instead: kill daemon and twin N times among changes, and compare.", least=1, metavar="N"
    ),
    cuts: int = option(0, "With --chaos: cuts of the network between daemon and twin.", least=0),
    changes: int = option(500, "With --chaos: the least number of changes.", least=1),
    tree: bool = option(False, "With --chaos: over a tree of three engines."),
    machines: bool = option(
        False, "With --chaos: over three machines with a daemon on two; agents, engines, daemons and the"
        " leader's machine are killed, and machines and cables cut.",
    ),
    over: int | None = option(
        None, "Instead: seconds of each verb over N machines, which are namespaces of this one, and of a"
        " call of each of up to 1,000 agents.", least=2, most=32, metavar="N",
    ),
    moves: int | None = option(
        None, "Instead: move workers N times at full rate, and account for each frame.", least=1, metavar="N"
    ),
    seed: int = option(1, "Random seed of everything but the measurement."),
) -> VerbReport:  # fmt: skip
    """Measure the daemon: reconciling, joins and memory.

    Over VNP4₁ and VNP4₂ without a queue; --chaos and --moves over a twin, with exit code 1 when something
    is wrong afterwards.
    """
    if chaos is not None:
        return _break_things(chaos, cuts, changes, seed, tree, machines)
    if over is not None:
        return _time_machines(over)
    if moves is not None:
        return _move_workers(moves, seed)
    from olaflab.daemon import scale

    figures = scale.measure_daemon(members, clusters, joins, log_progress)
    return VerbReport(asdict(figures), [*scale.format_lines(figures)])


def _break_things(kills: int, cuts: int, changes: int, seed: int, tree: bool, machines: bool) -> VerbReport:
    from olaflab.daemon import chaos, machine_chaos

    if machines:
        report = machine_chaos.run_machine_chaos(kills, cuts, changes, seed, log_progress)
    else:
        report = chaos.run_chaos(kills, cuts, changes, seed, log_progress, tree=tree)
    lines = (
        f"killed: {_format_counts(report.killed)}; cuts: {_format_counts(report.cuts)}",
        f"changes: {_format_counts(report.outcomes)}; {report.reads} reads of {report.revisions} revisions",
        f"at most {report.pause:.1f} s between two that were done; {report.members} members at the end; "
        f"{len(report.disagreements)} disagreements",
    )
    return VerbReport(asdict(report), lines, report.disagreements[:20])


def _time_machines(machines: int) -> VerbReport:
    from olaflab.daemon import machine_scale

    calls, verbs = machine_scale.time_calls(log_progress), machine_scale.time_verbs(machines, log_progress)
    lines = [f"{name} over {machines} machines: {seconds:.1f} s" for name, seconds in verbs.items()]
    lines += [
        f"a call of each of {agents} agents: {seconds:.2f} s, {grown:.0f} MB"
        for agents, (seconds, grown) in calls.items()
    ]
    return VerbReport({"verbs": verbs, "calls": calls}, lines)


def _move_workers(moves: int, seed: int) -> VerbReport:
    from olaflab.daemon.moves import run_moves

    report = run_moves(moves, seed, log_progress)
    lines = (
        f"{report.moves} moves in {report.seconds:.1f} s while {report.sent} updates were sent",
        f"updates: {report.entered} came to the queue, {report.left} left, {report.combined} combined, "
        f"dropped: {_format_counts(report.dropped) or 'none'}; {report.received} received",
        f"ACKs: {report.acks} received; {report.stale} of {report.marks} marks stale",
        f"{len(report.problems)} problems",
    )
    return VerbReport(asdict(report), lines, report.problems)


def _format_counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
