"""``olaflab bench software``: frames a second through the target software, next to the twin."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from olaflab.verb import TextTable, VerbReport, argument, option, verb
from olafswitch.console.output import log_progress

if TYPE_CHECKING:
    from olafctl.testbed.model import Testbed
    from olaflab.pipeline.twin import Rate

_JUMBO_BEATS = 142
_COUNTED = 6400
_MALFORMED, _STOPPED_SECONDS = 1_000_000, 5.0


@verb("Print the measurements as JSON.")
def command(
    testbed: str = argument("laptop"),
    frames: int = option(300_000, "Frames in process.", least=64),
    size: int = option(256, "Bytes of each update on veths."),
    window: int = option(64, "Frames under way on veths.", least=1, most=4096),
    seconds: float = option(2.0, "Seconds of each run over veths.", least=0.1),
    runs: int = option(5, "Runs over veths, in turn.", least=1),
    compare: str | None = option(
        None, "Target whose chain is measured over veths too, and its switches alone.", choices=["bmv2"]
    ),
    faults: bool = option(
        False, "Instead: 1,000,000 malformed frames, 5 s without a processor, kill -9, a host that reads"
        " nothing and a deleted veth: nothing wrong is merged, and it goes on.",
    ),
    cores: int | None = option(
        None, "Instead: in process, engines of 1, 2, 4 … shards up to this, each with a core of its own, in"
        " turn; and copies of 8,960-byte ACKs to 2, 8 and 32 members.", least=1, most=16,
    ),
    soak: float | None = option(
        None, "Instead: over veths, so long at 90 % of what an engine of --cores shards (2) carries, updates"
        " of --size bytes; losses and their places each 30 s.", least=1.0, metavar="SECONDS",
    ),
    instructions: bool = option(
        False, "Instead: instructions of an update, a merged update, a plain frame and an ACK in each part,"
        " in process, counted by valgrind's callgrind: the same in every run.",
    ),
) -> VerbReport:  # fmt: skip
    """Measure frames/s through the target software and the twin.

    Through VNP4₁ → queue → VNP4₂ of TESTBED in FIFO mode, so that every update that goes in comes out: in
    process, in processor time of one core, and over veths in wall time, the targets in turn. Updates in
    process have 256 bytes, or 9,036 in slots of 142 beats. --instructions shows where the time goes.

    With --compare BMv2 is measured as the chain that the project deploys, with its queue and a relay of
    frames, and as its two switches alone, joined by a cable.

    Over veths a share of each frame's time is the kernel's: the engine's processor time shows how much, and
    how many frames a second one core has the time for. With --soak the target software must lose nothing and
    grow by nothing.
    """
    from olafctl.targets import testbeds
    from olaflab.pipeline import faults as faulty
    from olaflab.pipeline import twin as throughput
    from olaftest.deployment import deployed_testbed

    if soak is not None:
        return _soak_engine(cores or 2, size, soak)
    if cores is not None:
        return _measure_shards(cores, frames, runs)
    if instructions:
        return _count_instructions(testbed)
    bed = testbeds.load_testbed(testbeds.locate_testbed(testbed))
    if faults:
        survived = faulty.run_faults(bed, _MALFORMED, _STOPPED_SECONDS, log_progress)
        return VerbReport(
            {name: asdict(passed) for name, passed in survived.items()},
            [
                f"{name:<28}{passed.arrived} of {passed.sent} updates arrived, and all add up"
                for name, passed in survived.items()
            ],
        )
    results = _measure_in_process(bed, frames)
    updates = throughput.encode_updates(bed, size)
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(deployed_testbed(replace(bed, target=name), log_progress))
            for name in ("software", "twin")
        }
        if reason := throughput.why_no_veth(running["software"]):
            results["veth"] = {"skipped": reason}
        else:
            done = throughput.measure_targets(
                stack, bed, running, compare, updates, runs, seconds, window, log_progress
            )
            for name, made in done.runs.items():
                results[f"{name}, {size} bytes, veth"] = _over_veths(made)
            spent = {
                name: median(run.user_ns + run.kernel_ns for run in made) for name, made in done.runs.items()
            }
            for name in done.runs:
                if name != "software":
                    results[f"software / {name}, veth"] = {
                        "ratio": median(done.ratios_of("software", name)),
                        "ratio_of_processor_time": spent[name] / spent["software"],
                    }
    return VerbReport(results, [f"{name:<34}{_format_line(result)}" for name, result in results.items()])


def _measure_in_process(bed: "Testbed", frames: int) -> dict[str, Any]:
    from olaflab.pipeline import in_process
    from olaflab.pipeline.twin import encode_updates

    root, *others = bed.engines
    jumbo = replace(bed, engines=(replace(root, beats=_JUMBO_BEATS), *others))
    results: dict[str, Any] = {}
    for length, each in ((256, bed), (9036, jumbo)):
        sent = encode_updates(each, length)
        for target in in_process.QUEUES:
            with in_process.engine_of(each, target, log_progress) as engine:
                log_progress(f"{target}, {length} bytes, in process")
                count = frames if target == "software" else frames // 20
                engine.rate_up(sent, count // 10)
                rate = max(engine.rate_up(sent, count) for _ in range(3))
            results[f"{target}, {length} bytes, in process"] = {
                "frames_per_second": rate,
                "gigabits_per_second": rate * length * 8 / 1e9,
            }
    return results


def _count_instructions(testbed: str) -> VerbReport:
    from olaflab.pipeline.instructions import count_instructions

    counted = count_instructions(testbed, _COUNTED, log_progress)
    parts = list(next(iter(counted.values())))
    rows = [
        (kind, *(round(cost[part]) for part in parts), round(sum(cost.values())))
        for kind, cost in counted.items()
    ]
    return VerbReport(counted, [TextTable("Instructions a frame", ("frame", *parts, "all"), rows)])


def _soak_engine(shards: int, size: int, seconds: float) -> VerbReport:
    from olaflab.pipeline.shards import soak_engine

    soaked = soak_engine(shards, size, seconds, log_progress)
    return VerbReport(
        vars(soaked),
        [
            f"{soaked.limit:,.0f} frames/s; {soaked.seconds:.0f} s at 90 % of it",
            f"{soaked.lost} of {soaked.sent:,} lost",
            *(f"{count:>12,} {name}" for name, count in soaked.lost_at.items()),
            "{:.1f} → {:.1f} MiB".format(*(each / 2**20 for each in soaked.rss_bytes)),
        ],
    )


def _measure_shards(cores: int, frames: int, runs: int) -> VerbReport:
    """Measure engines of several shards in process, and the copies of an ACK."""
    from olaflab.pipeline import shards

    counts = sorted({1 << power for power in range(cores.bit_length())} | {cores})
    results: dict[str, dict[str, float]] = {}
    for size, each in ((256, frames), (9036, frames // 20)):
        scaling = shards.measure_scaling(counts, size, each, runs, log_progress)
        for count in counts:
            hop = scaling.hop.get(count, ())
            results[f"{count} shards, {size} bytes"] = {
                "frames_per_second": scaling.per_second(count),
                "times one shard": scaling.ratio_to_one(count, of_wall=True),
                "processor_ns": scaling.median_ns(count),
                "times one shard by processor time": scaling.ratio_to_one(count, of_wall=False),
                "lost": sum(run.lost for run in (*scaling.runs[count], *hop)),
                "lost between shards": sum(run.between_shards for run in hop),
                **({"frames_per_second all by a hop": median(run.per_second for run in hop)} if hop else {}),
            }
    for members in (2, 8, 32):
        copies = shards.fan_out(members, 8960, frames // 20 // members, runs, log_progress)
        results[f"ACKs to {members} members, 8960 bytes"] = {"copies_per_second": copies}
    return VerbReport(
        results,
        [
            f"{name:<34}{', '.join(f'{what} {value:,.2f}' for what, value in figures.items())}"
            for name, figures in results.items()
        ],
    )


def _over_veths(runs: "Sequence[Rate]") -> dict[str, Any]:
    user, kernel = (median(getattr(run, part) for run in runs) for part in ("user_ns", "kernel_ns"))
    return {
        "frames_per_second": median(run.per_second for run in runs),
        "lost": sum(run.frames - run.received for run in runs),
        "ns": {"user": user, "kernel": kernel},
        "latency_us": {name: median(run.latency_us[name] for run in runs) for name in runs[0].latency_us},
    }


def _format_line(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"skipped: {result['skipped']}"
    if "ratio" in result:
        return f"{result['ratio']:>12.1f} ×, {result['ratio_of_processor_time']:.1f} × a core"
    rate = f"{result['frames_per_second']:>12,.0f} frames/s"
    if "lost" in result:
        parts = ", ".join(f"{name} {value:.0f}" for name, value in result["ns"].items())
        late = ", ".join(f"{name} {value:.1f}" for name, value in result["latency_us"].items())
        return f"{rate}  {result['lost']} lost  (ns of the engine: {parts}; latency in µs: {late})"
    return f"{rate}  {result['gigabits_per_second']:.1f} Gb/s"
