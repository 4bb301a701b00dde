"""``olaflab bench weights``: weights down to players through whole engines, and the codecs' costs."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import importing

if TYPE_CHECKING:
    from olaflab.papers.summary import Estimate
    from olaflab.weights.plan import Plan, WeightsOutcome

_COUNTS = (2, 8, 32, 128, 256, 1024)


@verb("Print the outcome as JSON.")
def command(
    players: int = option(8, "Players of the cluster.", least=2, most=1024),
    versions: int = option(500, "Versions to publish.", least=4),
    values: int = option(200_000, "Values of 16 bits.", least=1),
    share: float = option(0.014, "Share of the values that a version changes.", least=0, most=1),
    loss: float = option(
        0.0, "Share of datagrams lost on each player's link, in each direction.", least=0, most=0.5
    ),
    kill: bool = option(False, "A player gets SIGKILL after a quarter; it begins again at half."),
    late: bool = option(False, "One player begins after a third of the versions."),
    levels: int = option(1, "Levels of engines.", least=1, most=2),
    target: str = option("software", "Target of the engines.", choices=("twin", "software")),
    pace: float = option(0.1, "Seconds between two versions.", least=0),
    rate: float = option(20e6, "Bytes a second that the publisher sends at most.", least=1e3),
    seed: int = option(1, "Random seed of the model, its changes and the losses."),
    seconds: float = option(900.0, "Seconds after which a run has failed.", least=1),
    fan_out: bool = option(
        False, "Measure 2, 8, 32 … --players in virtual time instead, and one that is late."
    ),
    disturbed: bool = option(False, "Measure publish() instead, with and without a slow and a dead player."),
    beside: bool = option(False, "Send each version by other ways, too, over this machine's loopback."),
    codecs: bool = option(False, "Measure the codecs on --values by learning rate instead; needs no engine."),
) -> VerbReport:
    """Publish weights to players, and compare every bit adopted.

    Publisher and players are processes with kernel sockets in network namespaces, as root. Exit code 1
    where a player adopted other bits than were published, or did not come to the last version.
    """
    with importing("the bench"):
        from olaflab.weights.plan import Plan
    plan = Plan(players, versions, values, share, loss, kill, late, levels, target, pace, rate, seed)
    if codecs:
        return _measure_codecs(plan)
    if beside:
        return _compare_ways(plan)
    if disturbed:
        return _measure_publish(plan)
    if fan_out:
        return _measure_fan_out(plan)
    outcome = _publish_versions(plan, seconds)
    failed = bool(outcome.problems or outcome.wrong)
    return VerbReport(asdict(outcome), _report_parts(plan, outcome), failed=failed)


def _measure_fan_out(plan: "Plan") -> VerbReport:
    from olaflab.weights.fan import measure_fan_out

    counts = tuple(count for count in _COUNTS if count <= plan.players)
    found = measure_fan_out(plan, counts, (0.0, plan.loss) if plan.loss else (0.0,), log_progress)
    heads = ("players", "loss", "bytes of a version", "sent", "times its frames", "wants a player",
             "ms until all have it", "bytes for a late one")  # fmt: skip
    rows = [
        (each.players, f"{each.loss:.1%}", f"{each.issue:.0f}", f"{each.sent:.0f}",
         f"{each.transmissions:.3f}", f"{each.wants:.2f}", f"{each.seconds * 1e3:.1f}", each.join)
        for each in found
    ]  # fmt: skip
    title = f"{plan.versions} versions of {plan.values} values, {plan.share:.1%} changed, MTU 1500"
    return VerbReport([asdict(each) for each in found], [TextTable(title, heads, rows)])


def _measure_publish(plan: "Plan") -> VerbReport:
    from olaflab.weights.disturbed import measure_disturbed

    found = measure_disturbed(plan, log_progress)
    rows = [
        (name, _format_interval(found.quiet[name]), _format_interval(found.disturbed[name]),
         "{:.3f} ({:.3f} … {:.3f})".format(*found.ratio[name]))
        for name in found.quiet
    ]  # fmt: skip
    title = f"publish() of {plan.values} values to {plan.players} players"
    return VerbReport(
        asdict(found), [TextTable(title, ("ms", "all well", "one slow, one dead", "ratio"), rows)]
    )


def _compare_ways(plan: "Plan") -> VerbReport:
    from olaflab.weights.beside import measure_ways

    found = measure_ways(plan, log_progress)
    heads = ("way", "MB of a version", "ms of processor", "ms until all have it")
    rows = [
        (
            one.way,
            _format_interval(one.megabytes),
            _format_interval(one.processor),
            _format_interval(one.milliseconds),
        )
        for one in found
    ]
    title = f"{plan.values} values, {plan.share:.1%} changed, {plan.players} players"
    return VerbReport([asdict(each) for each in found], [TextTable(title, heads, rows)])


def _measure_codecs(plan: "Plan") -> VerbReport:
    from olaflab.weights.codecs import measure_codecs

    costs = measure_codecs(plan.values, plan.seed)
    heads = ("rate", "changed", "codec", "bytes per changed value", "encode, GB/s", "decode and apply, GB/s")
    rows = [
        (
            f"{c.rate:g}",
            f"{c.share:.1%}",
            c.codec,
            f"{c.bytes_each:.2f}",
            f"{c.encode:.3f}",
            f"{c.decode:.3f}",
        )
        for c in costs
    ]
    title = f"codecs on {plan.values} bf16 weights N(0, 0.05) after a step N(0, rate), one core"
    return VerbReport([asdict(cost) for cost in costs], [TextTable(title, heads, rows)])


def _format_interval(found: "Estimate") -> str:
    return f"{found.mean:.3f} ± {found.interval:.3f}"


def _publish_versions(plan: "Plan", seconds: float) -> "WeightsOutcome":
    from olaflab import racks
    from olaflab.weights import live
    from olaftest.deployment import using_hosts

    testbed = racks.make_testbed("bench-weights", plan.target, "player", plan.players, plan.levels)
    with (
        using_hosts(testbed, log_progress) as (bed, _, namespaces),
        live.Team(bed, plan, namespaces) as team,
    ):
        return team.run_plan(seconds, log_progress)


def _report_parts(plan: "Plan", outcome: "WeightsOutcome") -> list[str | TextTable]:
    rows = []
    for one in sorted(outcome.played, key=lambda one: one.name):
        seconds = sorted(one.seconds.values())
        half, most = (seconds[len(seconds) * part // 100] * 1e3 for part in (50, 99))
        wrong = one.counts.get("digest", 0)
        rows.append((one.name, len(one.digests), max(one.digests), f"{half:.1f}", f"{most:.1f}", wrong))
    title = f"{plan.players} players, {plan.levels} level(s) of engines ({plan.target}), {plan.loss:.1%} loss"
    heads = ("player", "adopted", "last", "ms to adoption, p50", "p99", "wrong digests")
    parts: list[str | TextTable] = [
        TextTable(title, heads, rows),
        *(f"error: {each}" for each in outcome.problems),
    ]
    if (sent := outcome.published) is not None:
        took = sorted(sent.seconds)
        each = (sent.bytes - 2 * plan.values) / max(sent.changed, 1)
        parts.append(
            f"\n{plan.versions} versions in {outcome.seconds:.1f} s, {sent.issued} issued; publish() took "
            f"{took[len(took) // 2] * 1e3:.2f} ms, p99 {took[len(took) * 99 // 100] * 1e3:.2f} ms\n"
            f"the publisher sent {sent.frames} frames, {sent.bytes} bytes; "
            f"{sent.repairs} frames were asked for\n"
            f"{each:.2f} bytes per changed value, the first version's {2 * plan.values} not counted\n"
            f"{sum(len(one.digests) for one in outcome.played)} adoptions, {outcome.wrong} of other bits"
        )
    return parts
