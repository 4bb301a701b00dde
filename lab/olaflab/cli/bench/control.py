"""``olaflab bench control``: the daemon with thousands of members, and under kills."""

from dataclasses import asdict

import click

from olafswitch.console.output import json_option, log_progress, print_json

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
@click.option("--moves", type=click.IntRange(1), metavar="N",
              help="Instead: move workers N times at full rate, and account for each frame.")  # fmt: skip
@click.option("--hostile", type=click.IntRange(10), metavar="N",
              help="Instead: N random control messages, N mutated calls, floods of 5,000/s.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of all but the measurement.")
@json_option("Print the figures as JSON.")
def command(
    members: int, clusters: int, joins: int, chaos: int | None, cuts: int, changes: int,
    tree: bool, moves: int | None, hostile: int | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Measure the daemon: reconciling, joins and memory.

    Over VNP4₁ and VNP4₂ without a queue; --chaos, --moves and --hostile over a twin, with exit code 1
    when something is wrong afterwards.
    """
    if chaos is not None:
        _chaos(chaos, cuts, changes, seed, tree, as_json)
    elif moves is not None:
        _moves(moves, seed, as_json)
    elif hostile is not None:
        _hostile(hostile, joins, seed, as_json)
    else:
        from olaflab.daemon import scale

        figures = scale.measure(members, clusters, joins, log_progress)
        if as_json:
            print_json(asdict(figures))
        else:
            click.echo("\n".join(scale.lines(figures)))


def _chaos(kills: int, cuts: int, changes: int, seed: int, tree: bool, as_json: bool) -> None:
    from olaflab.daemon.chaos import run
    from olafswitch.errors import OlafError

    report = run(kills, cuts, changes, seed, log_progress, tree=tree)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(f"killed: {_counts(report.killed)}; cuts: {_counts(report.cuts)}")
        click.echo(
            f"changes: {_counts(report.outcomes)}; {report.reads} reads of {report.revisions} revisions"
        )
        click.echo(f"{report.members} members at the end; {len(report.disagreements)} disagreements")
    if report.disagreements:
        raise OlafError(*report.disagreements[:20])


def _moves(moves: int, seed: int, as_json: bool) -> None:
    from olaflab.daemon.moves import run
    from olafswitch.errors import OlafError

    report = run(moves, seed, log_progress)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(f"{report.moves} moves in {report.seconds:.1f} s while {report.sent} updates were sent")
        click.echo(
            f"updates: {report.entered} came to the queue, {report.left} left, {report.combined} combined, "
            f"dropped: {_counts(report.dropped) or 'none'}; {report.received} received"
        )
        click.echo(f"ACKs: {report.acks} received; {report.stale} of {report.marks} marks stale")
        click.echo(f"{len(report.problems)} problems")
    if report.problems:
        raise OlafError(*report.problems)


def _hostile(messages: int, joins: int, seed: int, as_json: bool) -> None:
    from olaflab.daemon import hostile
    from olafswitch.errors import OlafError, Problem

    report = hostile.run(messages, joins, _FLOOD, seed, log_progress)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo("\n".join(hostile.lines(report)))
    if report.revisions:
        raise OlafError(Problem(f"{report.revisions} changes were made by hostile input"))
    if report.kept < _KEPT:
        what = f"valid joins kept {report.kept:.0%} of their calm rate under a flood from many sources"
        raise OlafError(Problem(what, remedy=f"{_KEPT:.0%} is required; measure on an idle machine"))


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
