"""``olaflab bench weights``: weights down to players through whole engines, and what the codecs cost."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olafswitch.console.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.papers.summary import Estimate
    from olaflab.weights.plan import Outcome, Plan

_SHARES = (0.014, 0.043, 0.1, 0.5)
_COUNTS = (2, 8, 32, 128, 256, 1024)


@click.command()
@click.option("--players", type=click.IntRange(2, 1024), default=8, show_default=True, help="Of the cluster.")
@click.option("--versions", type=click.IntRange(4), default=500, show_default=True, help="To publish.")
@click.option("--values", type=click.IntRange(1), default=200_000, show_default=True, help="Of 16 bits.")
@click.option("--share", type=click.FloatRange(0, 1), default=0.014, show_default=True,
              help="Of the values, that a version changes.")  # fmt: skip
@click.option("--loss", type=click.FloatRange(0, 0.5), default=0.0, show_default=True,
              help="Share of datagrams lost on each player's link, in each direction.")  # fmt: skip
@click.option("--kill", is_flag=True, help="A player gets SIGKILL after a quarter; it begins again at half.")
@click.option("--late", is_flag=True, help="One player begins after a third of the versions.")
@click.option("--levels", type=click.IntRange(1, 2), default=1, show_default=True, help="Of engines.")
@click.option("--target", type=click.Choice(("twin", "software")), default="software", show_default=True,
              help="What the engines are.")  # fmt: skip
@click.option("--pace", type=click.FloatRange(0), default=0.1, show_default=True,
              help="Seconds between two versions.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(1e3), default=20e6, show_default=True,
              help="Bytes a second that the publisher sends at most.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Of the model, its changes and the losses.")
@click.option("--seconds", type=click.FloatRange(1), default=900.0, show_default=True,
              help="After which a run has failed.")  # fmt: skip
@click.option("--fan-out", "what", flag_value="fan-out",
              help="Measure 2, 8, 32 … --players in virtual time instead, and one that is late.")  # fmt: skip
@click.option("--disturbed", "what", flag_value="disturbed",
              help="Measure publish() instead, with and without a slow and a dead player.")  # fmt: skip
@click.option("--beside", "what", flag_value="beside",
              help="Send each version by other ways, too, over this machine's loopback.")  # fmt: skip
@click.option("--codecs", "what", flag_value="codecs",
              help="Measure the codecs on --values instead; needs no engine.")  # fmt: skip
@json_option("Print the outcome as JSON.")
def command(what: str | None, seconds: float, as_json: bool, **options: Any) -> None:
    """Publish weights to players, and compare every bit adopted.

    Publisher and players are processes with kernel sockets in network namespaces, as root. Exit code 1
    where a player adopted other bits than were published, or did not come to the last version.
    """
    from olafswitch.errors import importing

    with importing("the bench"):
        from olaflab.weights.plan import Plan
    plan = Plan(**options)
    if what is not None:
        _INSTEAD[what](plan, as_json)
        return
    outcome = _run(plan, seconds)
    if as_json:
        print_json(asdict(outcome))
    else:
        _show(plan, outcome)
    if outcome.problems or outcome.wrong:
        raise SystemExit(1)


def _fan_out(plan: "Plan", as_json: bool) -> None:
    from olaflab.weights.fan import measure

    counts = tuple(count for count in _COUNTS if count <= plan.players)
    found = measure(plan, counts, (0.0, plan.loss) if plan.loss else (0.0,), log_progress)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    heads = ("players", "loss", "bytes of a version", "sent", "times its frames", "wants a player",
             "ms until all have it", "bytes for a late one")  # fmt: skip
    rows = [
        (each.players, f"{each.loss:.1%}", f"{each.issue:.0f}", f"{each.sent:.0f}",
         f"{each.transmissions:.3f}", f"{each.wants:.2f}", f"{each.seconds * 1e3:.1f}", each.join)
        for each in found
    ]  # fmt: skip
    table(
        f"{plan.versions} versions of {plan.values} values, {plan.share:.1%} changed, MTU 1500", heads, rows
    )


def _disturbed(plan: "Plan", as_json: bool) -> None:
    from olaflab.weights.disturbed import measure

    found = measure(plan, log_progress)
    if as_json:
        print_json(asdict(found))
        return
    table(
        f"publish() of {plan.values} values to {plan.players} players",
        ("ms", "all well", "one slow, one dead", "ratio"),
        [(name, _shown(found.quiet[name]), _shown(found.disturbed[name]),
          "{:.3f} ({:.3f} … {:.3f})".format(*found.ratio[name])) for name in found.quiet],
    )  # fmt: skip


def _beside(plan: "Plan", as_json: bool) -> None:
    from olaflab.weights.beside import measure

    found = measure(plan, log_progress)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    heads = ("way", "MB of a version", "ms of processor", "ms until all have it")
    rows = [
        (each.way, _shown(each.megabytes), _shown(each.processor), _shown(each.milliseconds))
        for each in found
    ]  # fmt: skip
    table(f"{plan.values} values, {plan.share:.1%} changed, {plan.players} players", heads, rows)


def _shown(found: "Estimate") -> str:
    return f"{found.mean:.3f} ± {found.interval:.3f}"


def _codecs(plan: "Plan", as_json: bool) -> None:
    from olaflab.weights.codecs import measure

    costs = measure(plan.values, _SHARES, plan.seed)
    if as_json:
        print_json([asdict(cost) for cost in costs])
        return
    table(
        f"codecs on {plan.values} values of 16 bits, one core",
        ("changed", "codec", "bytes per changed value", "encode, GB/s", "decode and apply, GB/s"),
        [
            (f"{c.share:.1%}", c.codec, f"{c.bytes_each:.2f}", f"{c.encode:.2f}", f"{c.decode:.2f}")
            for c in costs
        ],
    )


def _run(plan: "Plan", seconds: float) -> "Outcome":
    from olafctl.control.deploy import deploy, find
    from olafctl.control.destroy import destroy
    from olafctl.control.hosts import deployed
    from olafctl.control.store import Store, folder_of
    from olaflab.weights import live
    from olaflab.weights import plan as plans
    from olafswitch.errors import OlafError, Problem

    bed = plans.testbed(plan)
    store = Store(folder_of(plans.NAME))
    try:
        deploy(bed, log_progress, with_hosts=True)
        bed, running = find(store)
        if running is None:
            raise OlafError(Problem("does not run", plans.NAME))
        hosts = [*bed.clusters[0].workers, *bed.parameter_servers]
        namespaces = {host.name: deployed.namespace_of(store.folder, host.name) for host in hosts}
        with live.Team(bed, plan, namespaces) as team:
            return team.run(seconds, log_progress)
    finally:
        destroy(store)


def _show(plan: "Plan", outcome: "Outcome") -> None:
    rows = []
    for one in sorted(outcome.played, key=lambda one: one.name):
        seconds = sorted(one.seconds.values())
        half, most = (seconds[len(seconds) * part // 100] * 1e3 for part in (50, 99))
        counts = one.counts
        rows.append(
            (
                one.name,
                len(one.digests),
                max(one.digests),
                f"{half:.1f}",
                f"{most:.1f}",
                counts.get("digest", 0),
            )
        )
    title = f"{plan.players} players, {plan.levels} level(s) of engines ({plan.target}), {plan.loss:.1%} loss"
    heads = ("player", "adopted", "last", "ms to adoption, p50", "p99", "wrong digests")
    table(title, heads, rows)
    for problem in outcome.problems:
        click.echo(f"error: {problem}", err=True)
    sent = outcome.published
    if sent is None:
        return
    took = sorted(sent.seconds)
    each = (sent.bytes - 2 * plan.values) / max(sent.changed, 1)
    click.echo(
        f"\n{plan.versions} versions in {outcome.seconds:.1f} s, {sent.issued} issued; publish() took "
        f"{took[len(took) // 2] * 1e3:.2f} ms, p99 {took[len(took) * 99 // 100] * 1e3:.2f} ms\n"
        f"the publisher sent {sent.frames} frames, {sent.bytes} bytes; {sent.repairs} frames were asked for\n"
        f"{each:.2f} bytes per changed value, the first version's {2 * plan.values} not counted\n"
        f"{sum(len(one.digests) for one in outcome.played)} adoptions, {outcome.wrong} of other bits"
    )


_INSTEAD = {"fan-out": _fan_out, "disturbed": _disturbed, "beside": _beside, "codecs": _codecs}
