"""``olaflab bench control``: the daemon with thousands of members, under kills, and over machines."""

from dataclasses import asdict

import click

from olafswitch.console.output import json_option, log_progress, print_json, show

_FLOOD = 5000
"""Messages a second."""
_KEPT = 0.8
"""The least share of their calm rate that valid joins keep."""


@click.command()
@click.option("--members", type=click.IntRange(1, 12000), default=10_000, show_default=True,
              help="In all, before the joins.")  # fmt: skip
@click.option("--clusters", type=click.IntRange(1, 1000), default=1000, show_default=True,
              help="Over which members are dealt.")  # fmt: skip
@click.option("--joins", type=click.IntRange(1), default=500, show_default=True,
              help="One after the other; then four times as many, or as many in a flood.")  # fmt: skip
@click.option("--chaos", type=click.IntRange(1), metavar="N",
              help="Instead: kill daemon and twin N times among changes, and compare.")  # fmt: skip
@click.option("--cuts", type=click.IntRange(0), default=0, show_default=True,
              help="Of --chaos: cut the network between daemon and twin so many times.")  # fmt: skip
@click.option(
    "--changes", type=click.IntRange(1), default=500, show_default=True, help="Of --chaos, at least."
)
@click.option("--tree", is_flag=True, help="Of --chaos: over a tree of three engines.")
@click.option("--machines", is_flag=True,
              help="Of --chaos: over three machines with a daemon on two; agents, engines, daemons and the"
                   " leader's machine are killed, and machines and cables cut.")  # fmt: skip
@click.option("--over", type=click.IntRange(2, 32), metavar="N",
              help="Instead: seconds of each verb over N machines, which are namespaces of this one, and of a"
                   " call of each of up to 1,000 agents.")  # fmt: skip
@click.option("--moves", type=click.IntRange(1), metavar="N",
              help="Instead: move workers N times at full rate, and account for each frame.")  # fmt: skip
@click.option("--hostile", type=click.IntRange(10), metavar="N",
              help="Instead: N random control messages, N mutated calls, floods of 5,000/s.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of all but the measurement.")
@json_option("Print the figures as JSON.")
def command(
    members: int, clusters: int, joins: int, chaos: int | None, cuts: int, changes: int,
    tree: bool, machines: bool, over: int | None, moves: int | None, hostile: int | None, seed: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Measure the daemon: reconciling, joins and memory.

    Over VNP4₁ and VNP4₂ without a queue; --chaos, --moves and --hostile over a twin, with exit code 1
    when something is wrong afterwards.
    """
    if chaos is not None:
        _chaos(chaos, cuts, changes, seed, tree, machines, as_json)
    elif over is not None:
        _over(over, as_json)
    elif moves is not None:
        _moves(moves, seed, as_json)
    elif hostile is not None:
        _hostile(hostile, joins, seed, as_json)
    else:
        from olaflab.daemon import scale

        figures = scale.measure(members, clusters, joins, log_progress)
        show(asdict(figures), "\n".join(scale.lines(figures)), as_json)


def _chaos(kills: int, cuts: int, changes: int, seed: int, tree: bool, machines: bool, as_json: bool) -> None:
    from olaflab.daemon import machine_chaos
    from olaflab.daemon.chaos import run
    from olafswitch.errors import OlafError

    if machines:
        report = machine_chaos.run(kills, cuts, changes, seed, log_progress)
    else:
        report = run(kills, cuts, changes, seed, log_progress, tree=tree)
    lines = (
        f"killed: {_counts(report.killed)}; cuts: {_counts(report.cuts)}",
        f"changes: {_counts(report.outcomes)}; {report.reads} reads of {report.revisions} revisions",
        f"at most {report.pause:.1f} s between two that were done; {report.members} members at the end; "
        f"{len(report.disagreements)} disagreements",
    )
    show(asdict(report), "\n".join(lines), as_json)
    if report.disagreements:
        raise OlafError(*report.disagreements[:20])


def _over(machines: int, as_json: bool) -> None:
    from olaflab.daemon import machine_scale

    calls, verbs = machine_scale.calls(log_progress), machine_scale.verbs(machines, log_progress)
    if as_json:
        print_json({"verbs": verbs, "calls": calls})
        return
    for name, seconds in verbs.items():
        click.echo(f"{name} over {machines} machines: {seconds:.1f} s")
    for agents, (seconds, grown) in calls.items():
        click.echo(f"a call of each of {agents} agents: {seconds:.2f} s, {grown:.0f} MB")


def _moves(moves: int, seed: int, as_json: bool) -> None:
    from olaflab.daemon.moves import run
    from olafswitch.errors import OlafError

    report = run(moves, seed, log_progress)
    lines = (
        f"{report.moves} moves in {report.seconds:.1f} s while {report.sent} updates were sent",
        f"updates: {report.entered} came to the queue, {report.left} left, {report.combined} combined, "
        f"dropped: {_counts(report.dropped) or 'none'}; {report.received} received",
        f"ACKs: {report.acks} received; {report.stale} of {report.marks} marks stale",
        f"{len(report.problems)} problems",
    )
    show(asdict(report), "\n".join(lines), as_json)
    if report.problems:
        raise OlafError(*report.problems)


def _hostile(messages: int, joins: int, seed: int, as_json: bool) -> None:
    from olaflab.daemon import hostile
    from olafswitch.errors import OlafError, Problem

    report = hostile.run(messages, joins, _FLOOD, seed, log_progress)
    show(asdict(report), "\n".join(hostile.lines(report)), as_json)
    if report.revisions:
        raise OlafError(Problem(f"{report.revisions} changes were made by hostile input"))
    if report.kept < _KEPT:
        what = f"valid joins kept {report.kept:.0%} of their calm rate under a flood from many sources"
        raise OlafError(Problem(what, remedy=f"{_KEPT:.0%} is required; measure on an idle machine"))


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
