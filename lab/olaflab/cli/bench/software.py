"""``olaflab bench software``: frames a second through the target software, next to the twin."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from olafswitch.console.output import json_option, log_progress, print_json

if TYPE_CHECKING:
    from olaflab.pipeline.twin import Rate

_JUMBO_BEATS = 142
_MALFORMED, _STOPPED_SECONDS = 1_000_000, 5.0


@click.command()
@click.argument("testbed", default="laptop")
@click.option("--frames", type=click.IntRange(64), default=300_000, show_default=True, help="In process.")
@click.option("--size", type=int, default=256, show_default=True, help="Bytes of each update on veths.")
@click.option("--window", type=click.IntRange(1, 4096), default=64, show_default=True, help="On veths.")
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Of each run over veths."
)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Over veths, in turn.")
@click.option(
    "--compare",
    type=click.Choice(["bmv2"]),
    help="Measure this target's chain over veths too, and its switches alone.",
)
@click.option(
    "--faults",
    is_flag=True,
    help="Instead, 1,000,000 malformed frames, 5 s without a processor, kill -9, a host that reads nothing "
    "and a deleted veth: nothing wrong is merged, and it goes on.",
)
@click.option(
    "--cores",
    type=click.IntRange(1, 16),
    help="Instead, in process: engines of 1, 2, 4 … shards up to this, each with a core of its own, in turn; "
    "and copies of 8,960-byte ACKs to 2, 8 and 32 members.",
)
@click.option(
    "--soak",
    type=click.FloatRange(1.0),
    metavar="SECONDS",
    help="Instead, over veths: so long at 90 % of what an engine of --cores shards (2) carries, updates of "
    "--size bytes; what is lost, and where, each 30 s.",
)
@json_option("Print the measurements as JSON.")
def command(
    testbed: str,
    frames: int,
    size: int,
    window: int,
    seconds: float,
    runs: int,
    compare: str | None,
    faults: bool,
    cores: int | None,
    soak: float | None,
    as_json: bool,
) -> None:
    """Measure frames/s through the target software and the twin.

    Through VNP4₁ → queue → VNP4₂ of TESTBED in FIFO mode, so that every update that goes in comes out: in
    process, in processor time of one core, with a profile by part; and over veths in wall time, the targets
    in turn. Updates in process have 256 bytes, or 9,036 in slots of 142 beats.

    With --compare BMv2 is measured as the chain that the project deploys, with its queue and a relay of
    frames, and as its two switches alone, joined by a cable.

    Over veths a share of each frame's time is the kernel's: the engine's processor time shows how much, and
    how many frames a second one core has the time for. With --soak the target software must lose nothing and
    grow by nothing.
    """
    from contextlib import ExitStack
    from dataclasses import asdict, replace
    from functools import partial

    from olafctl.targets import testbeds
    from olaflab.pipeline import bare, in_process
    from olaflab.pipeline import faults as faulty
    from olaflab.pipeline import twin as throughput
    from olaftest.deployment import deployed

    if soak is not None:
        from olaflab.pipeline import shards

        soaked = shards.soak(cores or 2, size, soak, log_progress)
        if as_json:
            print_json(vars(soaked))
            return
        click.echo(f"{soaked.limit:,.0f} frames/s; {soaked.seconds:.0f} s at 90 % of it")
        click.echo(f"{soaked.lost} of {soaked.sent:,} lost")
        for name, count in soaked.lost_at.items():
            click.echo(f"{count:>12,} {name}")
        click.echo("{:.1f} → {:.1f} MiB".format(*(each / 2**20 for each in soaked.rss_bytes)))
        return
    if cores is not None:
        in_shards = _in_shards(cores, frames, runs)
        if as_json:
            print_json(in_shards)
        for name, figures in () if as_json else in_shards.items():
            click.echo(f"{name:<34}{', '.join(f'{what} {value:,.2f}' for what, value in figures.items())}")
        return
    bed = testbeds.load(testbeds.locate(testbed))
    if faults:
        survived = faulty.run(bed, _MALFORMED, _STOPPED_SECONDS, log_progress)
        if as_json:
            print_json({name: asdict(passed) for name, passed in survived.items()})
            return
        for name, passed in survived.items():
            click.echo(f"{name:<28}{passed.arrived} of {passed.sent} updates arrived, and all add up")
        return
    root, *others = bed.engines
    jumbo = replace(bed, engines=(replace(root, beats=_JUMBO_BEATS), *others))
    results: dict[str, Any] = {}
    updates = throughput.updates(bed, size)
    for length, each in ((256, bed), (9036, jumbo)):
        sent = throughput.updates(each, length)
        for target in in_process.QUEUES:
            with in_process.engine_of(each, target, log_progress) as engine:
                log_progress(f"{target}, {length} bytes, in process")
                count = frames if target == "software" else frames // 20
                engine.rate(sent, count // 10)
                rate = max(engine.rate(sent, count) for _ in range(3))
                profile = asdict(engine.profile(sent, count // 4))
            results[f"{target}, {length} bytes, in process"] = {
                "frames_per_second": rate,
                "gigabits_per_second": rate * length * 8 / 1e9,
                "ns": profile,
            }
    with ExitStack() as stack:
        names = ["software", "twin", *([compare] if compare else [])]
        targets = {
            name: stack.enter_context(deployed(replace(bed, target=name), log_progress)) for name in names
        }
        if reason := throughput.why_no_veth(targets["software"]):
            results["veth"] = {"skipped": reason}
        else:
            between = {name: (target, throughput.ends(target, bed)) for name, target in targets.items()}
            if compare is not None:
                other = replace(bed, target=compare)
                alone = stack.enter_context(deployed(other, log_progress))
                names.append(f"{compare} alone")
                between[names[-1]] = alone, bare.unplug(alone, other)
            log_progress(f"over veths: {runs} runs of {seconds:g} s of {', '.join(names)} in turn")
            measures = {
                name: partial(throughput.wall, target, ends, updates, window=window)
                for name, (target, ends) in between.items()
            }
            done = throughput.interleaved(runs, measures, seconds)
            for name, made in done.runs.items():
                results[f"{name}, {size} bytes, veth"] = _over(made)
            for name in names[1:]:
                of_core = [
                    median(run.user_ns + run.kernel_ns for run in done.runs[each])
                    for each in (name, "software")
                ]
                results[f"software / {name}, veth"] = {
                    "ratio": median(done.ratios("software", name)),
                    "ratio_of_processor_time": of_core[0] / of_core[1],
                }
    if as_json:
        print_json(results)
        return
    for name, result in results.items():
        click.echo(f"{name:<34}{_line(result)}")


def _in_shards(cores: int, frames: int, runs: int) -> dict[str, dict[str, float]]:
    """Engines of several shards in process, and what an ACK's copies cost."""
    from olaflab.pipeline import shards

    counts = sorted({1 << power for power in range(cores.bit_length())} | {cores})
    results: dict[str, dict[str, float]] = {}
    for size, each in ((256, frames), (9036, frames // 20)):
        scaling = shards.scaling(counts, size, each, runs, log_progress)
        for count in counts:
            hop = scaling.hop.get(count, ())
            results[f"{count} shards, {size} bytes"] = {
                "frames_per_second": scaling.per_second(count),
                "times one shard": scaling.ratio(count, of_wall=True),
                "processor_ns": scaling.ns(count),
                "times one shard by processor time": scaling.ratio(count, of_wall=False),
                "lost": sum(run.lost for run in (*scaling.runs[count], *hop)),
                "lost between shards": sum(run.between_shards for run in hop),
                **({"frames_per_second all by a hop": median(run.per_second for run in hop)} if hop else {}),
            }
    for members in (2, 8, 32):
        copies = shards.fan_out(members, 8960, frames // 20 // members, runs, log_progress)
        results[f"ACKs to {members} members, 8960 bytes"] = {"copies_per_second": copies}
    return results


def _over(runs: "Sequence[Rate]") -> dict[str, Any]:
    user, kernel = (median(getattr(run, part) for run in runs) for part in ("user_ns", "kernel_ns"))
    return {
        "frames_per_second": median(run.per_second for run in runs),
        "lost": sum(run.frames - run.received for run in runs),
        "ns": {"user": user, "kernel": kernel},
        "latency_us": {name: median(run.latency_us[name] for run in runs) for name in runs[0].latency_us},
    }


def _line(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"skipped: {result['skipped']}"
    if "ratio" in result:
        return f"{result['ratio']:>12.1f} ×, {result['ratio_of_processor_time']:.1f} × a core"
    rate = f"{result['frames_per_second']:>12,.0f} frames/s"
    parts = ", ".join(f"{name} {value:.0f}" for name, value in result["ns"].items())
    if "lost" in result:
        late = ", ".join(f"{name} {value:.1f}" for name, value in result["latency_us"].items())
        return f"{rate}  {result['lost']} lost  (ns of the engine: {parts}; latency in µs: {late})"
    return f"{rate}  {result['gigabits_per_second']:.1f} Gb/s  (ns: {parts})"
