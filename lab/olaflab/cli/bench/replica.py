"""``olaflab bench replica``: training without a server, over lossy links, with kills and late joins."""

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import importing

if TYPE_CHECKING:
    from olaflab.training.replicas.plan import ReplicaOutcome, ReplicaPlan

_COUNTERS = ("results", "gaps", "helps", "helped", "voids", "snapshots", "renewed", "stale", "fell_back")


@verb("Print the outcome as JSON.")
def command(
    members: int = option(8, "Members of the cluster.", least=2, most=32),
    results: int = option(2000, "Steps of training.", least=10),
    values: int = option(1000, "Values of the model.", least=1),
    h: int | None = option(None, "Updates in a result.  [default: as many as members]", least=1, most=65535),
    staleness: int = option(3, "S: steps by which a gradient may be old.", least=0, most=15),
    loss: float = option(
        0.0, "Share of datagrams lost on each member's link, in each direction.", least=0, most=0.5
    ),
    kill: bool = option(False, "Kill a member after a quarter of the steps; it begins again at half."),
    late: bool = option(False, "One member begins after a third of the steps."),
    levels: int = option(1, "Levels of engines.", least=1, most=2),
    target: str = option("twin", "Target of the engines.", choices=("twin", "software")),
    virtual: bool = option(False, "In virtual time, without kernel sockets and without root."),
    pace: float = option(0.004, "Seconds that a gradient takes.", least=0.0001),
    seed: int = option(1, "Random seed of gradients, times and losses."),
    seconds: float = option(900.0, "Seconds after which a run in wall time has failed.", least=1),
) -> VerbReport:
    """Train replicas and compare their weights bit for bit.

    iSwitch's algorithm 1 on a testbed of its own, in mode iswitch-async. In wall time every member is a
    process with kernel sockets in a network namespace, as root. Exit code 1 when the members' weights
    differ, or one of them did not end.
    """
    with importing("the bench"):
        from olaflab.training.replicas.plan import ReplicaPlan
    plan = ReplicaPlan(
        members=members, results=results, values=values, h=h or members, staleness=staleness, loss=loss,
        kill=kill, late=late, levels=levels, target=target, pace=pace, seed=seed,
    )  # fmt: skip
    outcome = _train_replicas(plan, virtual, seconds)
    document = {**asdict(outcome), "equal": outcome.equal, "histogram": outcome.histogram}
    return VerbReport(document, _report_parts(plan, outcome, virtual), failed=not outcome.equal)


def _train_replicas(plan: "ReplicaPlan", virtual: bool, seconds: float) -> "ReplicaOutcome":
    from olaflab.training.replicas import live
    from olaflab.training.replicas import plan as plans
    from olaflab.training.replicas import plan as simulated
    from olaftest.deployment import using_hosts

    with using_hosts(
        plans.make_testbed(plan, "unix" if virtual else "veth"), log_progress, not virtual
    ) as made:
        bed, running, namespaces = made
        if virtual:
            with closing(running.virtual_time()) as engine:
                return simulated.run_virtual(engine, bed, plan)
        with live.ReplicaTeam(bed, plan, namespaces) as team:
            return team.run_plan(seconds, log_progress)


def _report_parts(plan: "ReplicaPlan", outcome: "ReplicaOutcome", virtual: bool) -> list[Any]:
    rows = [
        (end.name, end.version, end.sha256, *(end.counters[name] for name in _COUNTERS), end.lost)
        for end in outcome.ends
    ]
    time = "virtual" if virtual else "wall"
    title = f"{plan.members} replicas, {plan.levels} level(s) of engines, {plan.loss:.1%} loss, {time} time"
    counters = (name.replace("_", " ") for name in _COUNTERS)
    whole = max(sum(outcome.histogram), 1)
    rate = plan.results / outcome.seconds if outcome.seconds else 0.0
    return [
        TextTable(title, ("member", "steps", "SHA-256 of the weights", *counters, "lost"), rows),
        TextTable(f"staleness of {whole} commits with a bound of {plan.staleness}",
              ("steps old", "commits", "share"),
              [(old, count, f"{count / whole:.1%}") for old, count in enumerate(outcome.histogram)]),
        *(f"error: {problem}" for problem in outcome.problems),
        f"\n{plan.results} steps in {outcome.seconds:.2f} s, {rate:.0f} a second; H {plan.h}; "
        f"the weights of all members are {'the same bits' if outcome.equal else 'NOT the same'}",
    ]  # fmt: skip
