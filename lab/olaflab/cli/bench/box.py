"""``olaflab bench box``: OpenNIC's user box in simulation, its throughput, latency and random frames."""

from dataclasses import asdict

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress

GOAL_BEATS_PER_CYCLE = 0.98
PAPER_LATENCY_NS = 1152
SIZES = (1500, 9036)
LATENCY_SIZES = (64, 256, 1500, 9036)
MEMBERS = (3, 64, 256)
ACK_BYTES = 1500
JUMBO = 9036
GOAL_LATENCY_NS = 960


@verb()
def command(
    frames: int | None = option(None, "Instead: number of random frames to send and account for."),
    seed: int = option(1, "Random seed of the frames."),
) -> VerbReport:
    """Measure the OpenNIC user box at 250 MHz, in cycles.

    All of it is Verilog. Throughput of bypassing frames and of updates in one direction, and of both ports
    into one; one ACK of 1500 bytes to 3, 64 and 256 members; the latency of an update of 64 to 9036 bytes, of
    the largest by stage and next to the paper's 1152 ns. With --frames instead random frames of all kinds,
    good and bad, into two ports and the host, with pauses at every port, resets and entries written in the
    middle, and ports that are dead for a while; each frame that leaves is compared with what the twin sends.
    Exit code 1 when a goal of the design is missed, or a frame is not accounted for.
    """
    if frames is not None:
        return _account_frames(frames, seed)
    from olafctl.wire.layouts import FrameKind
    from olaflab.opennic import performance

    measured = []
    for size in SIZES:
        for what, kind, inputs in (
            ("bypassing", FrameKind.BYPASS, (0,)),
            ("updates", FrameKind.UPDATE, (0,)),
            ("both ports into one", FrameKind.BYPASS, (0, 1)),
        ):
            log_progress(f"{size} B, {what}")
            measured.append((f"{size} B, {what}", performance.measure_throughput(size, kind, inputs=inputs)))
    copied = []
    for members in MEMBERS:
        log_progress(f"one ACK to {members} members")
        copied.append((members, performance.measure_replication(ACK_BYTES, members)))
    latencies = {}
    for size in LATENCY_SIZES:
        log_progress(f"latency of {size} B")
        latencies[size] = performance.measure_latency(size)
    jumbo = latencies[JUMBO]
    everything = [*measured, *((f"one ACK to {members} members", one) for members, one in copied)]
    missed = [
        f"{what}: {one.beats_per_cycle:.3f} beats per cycle, goal {GOAL_BEATS_PER_CYCLE}"
        for what, one in everything
        if one.beats_per_cycle < GOAL_BEATS_PER_CYCLE
    ]
    if jumbo.last_ns > GOAL_LATENCY_NS:
        missed.append(f"{jumbo.last_ns:.0f} ns to the last beat out, goal {GOAL_LATENCY_NS}")
    delays = {size: {"first": delay.first_ns, "last": delay.last_ns} for size, delay in latencies.items()}
    beats = (ACK_BYTES + 63) // 64
    document = {
        "throughput": {what: one.beats_per_cycle for what, one in everything},
        "latency_ns": delays,
        "stages_cycles": dict(jumbo.stages),
        "paper_ns": PAPER_LATENCY_NS,
        "missed": missed,
    }
    tables = [
        TextTable("throughput", ("", "beats/cycle", "Gb/s"),
              [(what, f"{one.beats_per_cycle:.3f}", f"{one.bits_per_second / 1e9:.1f}")
               for what, one in measured]),
        TextTable(f"one ACK of {ACK_BYTES} bytes", ("members", "copies/cycle", "limit"),
              [(to, f"{one.beats_per_cycle / beats:.4f}", f"{1 / beats:.4f}") for to, one in copied]),
        TextTable(f"ns from the first beat in; the paper's {JUMBO} bytes are out after {PAPER_LATENCY_NS}",
              ("bytes", "first beat out", "last"),
              [(size, round(each["first"]), round(each["last"])) for size, each in delays.items()]),
        TextTable(f"{JUMBO} bytes, to the first beat out", ("stage", "cycles", "ns"),
              [(stage, cycles, cycles * 4) for stage, cycles in jumbo.stages.items()]),
    ]  # fmt: skip
    return VerbReport(document, tables, missed)


def _account_frames(frames: int, seed: int) -> VerbReport:
    from olaftest.opennic.random_frames import account_frames

    done = account_frames(frames, seed, log_progress)
    dropped = ", ".join(f"{count} {name}" for name, count in done.dropped.items())
    text = (
        f"{done.frames:,} frames, seed {seed}: {done.copies:,} copies left, all as the twin sends them; "
        f"counted as dropped: {dropped}; {done.bad} bad frames dropped at their port; "
        f"{done.resets} resets, which cut {done.cut} frames; {done.lost_links} lost links; "
        f"entries written {done.rewritten} times in traffic"
    )
    return VerbReport(asdict(done), [text])
