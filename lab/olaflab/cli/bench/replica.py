"""``olaflab bench replica``: training without a server, over lossy links, with kills and late joins."""

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olafswitch.console.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.training.replicas.plan import Outcome, Plan

_COUNTERS = ("results", "gaps", "helps", "helped", "voids", "snapshots", "renewed", "stale", "fell_back")


@click.command()
@click.option("--members", type=click.IntRange(2, 32), default=8, show_default=True, help="Of the cluster.")
@click.option(
    "--results", type=click.IntRange(10), default=2000, show_default=True, help="Steps of training."
)
@click.option("--values", type=click.IntRange(1), default=1000, show_default=True, help="Of the model.")
@click.option(
    "--h", type=click.IntRange(1, 65535), help="Updates in a result.  [default: as many as members]"
)
@click.option("--staleness", type=click.IntRange(0, 15), default=3, show_default=True,
              help="S: steps by which a gradient may be old.")  # fmt: skip
@click.option("--loss", type=click.FloatRange(0, 0.5), default=0.0, show_default=True,
              help="Share of datagrams lost on each member's link, in each direction.")  # fmt: skip
@click.option(
    "--kill", is_flag=True, help="Kill a member after a quarter of the steps; it begins again at half."
)
@click.option("--late", is_flag=True, help="One member begins after a third of the steps.")
@click.option("--levels", type=click.IntRange(1, 2), default=1, show_default=True, help="Of engines.")
@click.option("--target", type=click.Choice(("twin", "software")), default="twin", show_default=True,
              help="What the engines are.")  # fmt: skip
@click.option("--virtual", is_flag=True, help="In virtual time, without kernel sockets and without root.")
@click.option("--pace", type=click.FloatRange(0.0001), default=0.004, show_default=True,
              help="Seconds that a gradient takes.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Of gradients, times and losses.")
@click.option("--seconds", type=click.FloatRange(1), default=900.0, show_default=True,
              help="After which a run in wall time has failed.")  # fmt: skip
@json_option("Print the outcome as JSON.")
def command(h: int | None, virtual: bool, seconds: float, as_json: bool, **options: Any) -> None:
    """Train replicas and compare their weights bit for bit.

    iSwitch's algorithm 1 on a testbed of its own, in mode iswitch-async. In wall time every member is a
    process with kernel sockets in a network namespace, as root. Exit code 1 when the members' weights
    differ, or one of them did not end.
    """
    from olafswitch.errors import importing

    with importing("the bench"):
        from olaflab.training.replicas.plan import Plan
    plan = Plan(h=h or options["members"], **options)
    outcome = _run(plan, virtual, seconds)
    if as_json:
        print_json({**asdict(outcome), "equal": outcome.equal, "histogram": outcome.histogram})
    else:
        _show(plan, outcome, virtual)
    if not outcome.equal:
        raise SystemExit(1)


def _run(plan: "Plan", virtual: bool, seconds: float) -> "Outcome":
    from olafctl.control.deploy import deploy, find
    from olafctl.control.destroy import destroy
    from olafctl.control.hosts import deployed
    from olafctl.control.store import Store, folder_of
    from olaflab.training.replicas import live
    from olaflab.training.replicas import plan as plans
    from olaflab.training.replicas import virtual as simulated
    from olafswitch.errors import OlafError, Problem

    bed = plans.testbed(plan, "unix" if virtual else "veth")
    store = Store(folder_of(plans.NAME))
    try:
        deploy(bed, log_progress, with_hosts=not virtual)
        bed, running = find(store)
        if running is None:
            raise OlafError(Problem("does not run", plans.NAME))
        if virtual:
            with closing(running.virtual_time()) as engine:
                return simulated.run(engine, bed, plan)
        namespaces = {
            worker.name: deployed.namespace_of(store.folder, worker.name)
            for worker in bed.clusters[0].workers
        }
        with live.Team(bed, plan, namespaces) as team:
            return team.run(seconds, log_progress)
    finally:
        destroy(store)


def _show(plan: "Plan", outcome: "Outcome", virtual: bool) -> None:
    rows = [
        (end.name, end.version, end.sha256, *(end.counters[name] for name in _COUNTERS), end.lost)
        for end in outcome.ends
    ]
    time = "virtual" if virtual else "wall"
    title = f"{plan.members} replicas, {plan.levels} level(s) of engines, {plan.loss:.1%} loss, {time} time"
    counters = (name.replace("_", " ") for name in _COUNTERS)
    table(title, ("member", "steps", "SHA-256 of the weights", *counters, "lost"), rows)
    histogram = outcome.histogram
    whole = max(sum(histogram), 1)
    table(
        f"staleness of {whole} commits with a bound of {plan.staleness}",
        ("steps old", "commits", "share"),
        [(old, count, f"{count / whole:.1%}") for old, count in enumerate(histogram)],
    )
    for problem in outcome.problems:
        click.echo(f"error: {problem}", err=True)
    rate = plan.results / outcome.seconds if outcome.seconds else 0.0
    click.echo(
        f"\n{plan.results} steps in {outcome.seconds:.2f} s, {rate:.0f} a second; H {plan.h}; "
        f"the weights of all members are {'the same bits' if outcome.equal else 'NOT the same'}"
    )
