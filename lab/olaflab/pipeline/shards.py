"""Frames through an engine of the target software with several shards, in process and over veths."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from olafctl import paths
from olafctl.control.shards import threads_of
from olafctl.targets import testbeds
from olafctl.targets.interface import Progress, Running
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import BEAT_BYTES, FrameType
from olaflab.pipeline import in_process
from olaflab.pipeline.in_process import InProcess, Together
from olaflab.pipeline.twin import Rate, encode_updates, engine_processes, find_ends, measure_wall, why_no_veth
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed_testbed

_JUMBO_BEATS = 142
_MOST_UNDER_WAY = 1024
_LIMIT_RUNS, _LIMIT_SECONDS, _REPORTED_SECONDS = 5, 2.0, 30.0
_TESTBED = """
name: shards
target: software
engine: {{shards: {shards}, indices: 64, slots: 64, beats: {beats}}}
ports:
  - {{number: 1, name: ps, transport: {transport}}}
  - {{number: 2, name: rack, transport: {transport}}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: {clusters}, workers: {members}, name: job, ports: "2", ip: 10.0.1.1}}
"""


def make_testbed(
    shards: int, beats: int = 24, members: int = 4, transport: Transport = Transport.UNIX
) -> Testbed:
    """Make a testbed of one engine with a cluster of so many members for each shard."""
    text = _TESTBED.format(
        shards=shards, beats=beats, clusters=shards, members=members, transport=transport.value
    )
    return testbeds.load_testbed(paths.sources() / "shards.yaml", text)


@dataclass(frozen=True)
class Scaling:
    """Medians of runs in turn, by the number of shards; ratios to one shard, run by run."""

    runs: Mapping[int, Sequence[Together]]
    hop: Mapping[int, Sequence[Together]]
    """Where every frame comes in at another shard than its cluster's."""

    def per_second(self, shards: int) -> float:
        """Return the frames a second, in wall time."""
        return median(each.per_second for each in self.runs[shards])

    def median_ns(self, shards: int) -> float:
        """Return the processor time of a frame."""
        return median(each.ns for each in self.runs[shards])

    def ratio_to_one(self, shards: int, *, of_wall: bool) -> float:
        """Return how many times the frames of one shard pass."""
        first = self.runs[min(self.runs)]
        pairs = zip(self.runs[shards], first, strict=True)
        if of_wall:
            return median(one.per_second / other.per_second for one, other in pairs)
        return median(one.per_core / other.per_core for one, other in pairs)


def measure_scaling(shards: Sequence[int], size: int, count: int, runs: int, progress: Progress) -> Scaling:
    """Measure, ``runs`` times in turn, ``count`` updates of ``size`` bytes in each shard of engines with so
    many."""
    beats = 24 if size <= 24 * BEAT_BYTES else _JUMBO_BEATS
    with ExitStack() as stack:
        engines: dict[int, tuple[InProcess, Sequence[Sequence[bytes]]]] = {}
        for each in shards:
            bed = make_testbed(each, beats)
            engine = stack.enter_context(in_process.engine_of(bed, "software", progress))
            engines[each] = engine, list(_by_shard(bed, engine, size))
        for engine, frames in engines.values():
            engine.run_shards(frames, count // 10)
        found: dict[int, list[Together]] = {each: [] for each in shards}
        hop: dict[int, list[Together]] = {each: [] for each in shards if each > 1}
        for _ in range(runs):
            for each, (engine, frames) in engines.items():
                found[each].append(engine.run_shards(frames, count))
                if each > 1:
                    hop[each].append(engine.run_shards(frames, count // 4, shift=1))
    return Scaling(found, hop)


def fan_out(members: int, size: int, count: int, runs: int, progress: Progress) -> float:
    """Return the copies a second of ACKs of ``size`` bytes to a cluster of so many members, in processor time
    of one core: the median of ``runs`` of ``count`` ACKs."""
    bed = make_testbed(1, _JUMBO_BEATS, members)
    with in_process.engine_of(bed, "software", progress) as engine:
        acks = encode_updates(bed, size, kind=FrameType.ACK)
        return median(engine.rate_down(acks, count) for _ in range(runs))


@dataclass(frozen=True)
class Soak:
    """A load of 90 % of what an engine over veths carried before."""

    limit: float
    """Frames a second, the median of runs."""
    sent: int
    lost: int
    lost_at: Mapping[str, int]
    """Lost frames by the counter that has them."""
    seconds: float
    rss_bytes: tuple[int, int]
    """Memory of the engine, before and after."""


def soak_engine(shards: int, size: int, seconds: float, progress: Progress) -> Soak:
    """Send updates of ``size`` bytes for ``seconds`` to all shards of an engine over veths at once, each by
    its queue; report what was lost now and then. Raises OlafError."""
    bed = make_testbed(shards, _JUMBO_BEATS if size > 24 * BEAT_BYTES else 24, transport=Transport.VETH)
    with deployed_testbed(bed, progress) as running:
        if reason := why_no_veth(running):
            raise OlafError(Problem(reason, "veths"))
        frames = spread_updates(running, bed, size)

        def run(span: float, rate: float = 0) -> Rate:
            return measure_wall(running, find_ends(running, bed), frames, span, _MOST_UNDER_WAY, rate, shards)

        def memory() -> int:
            return sum(part.memory_info().rss for part in engine_processes(running))

        limit = median(run(min(_LIMIT_SECONDS, seconds)).per_second for _ in range(_LIMIT_RUNS))
        before, sent, lost, over, at = memory(), 0, 0, 0.0, Counter[str]()
        while over < seconds:
            done = run(min(_REPORTED_SECONDS, seconds - over), 0.9 * limit)
            sent, lost, over = sent + done.frames, lost + done.frames - done.received, over + done.seconds
            at.update(done.lost_at)
            progress(
                f"{size} bytes, {over:.0f} of {seconds:.0f} s: {sent} sent, {lost} lost {dict(at) or ''}"
            )
        return Soak(limit, sent, lost, at, over, (before, memory()))


def spread_updates(running: Running, bed: Testbed, size: int) -> Sequence[bytes]:
    """Encode updates of ``size`` bytes for the first, the second, … shard in turn."""
    owners = threads_of(running)[bed.root.name].owners([cluster.first for cluster in bed.clusters])
    workers = [bed.clusters[owners.index(shard)].workers[0] for shard in range(bed.shards)]
    return [
        frame
        for turn in zip(*(encode_updates(bed, size, each) for each in workers), strict=True)
        for frame in turn
    ]


def _by_shard(bed: Testbed, engine: InProcess, size: int) -> Iterator[Sequence[bytes]]:
    """Yield updates of the clusters that each shard has."""
    owners = {engine.shard_of(cluster.first): cluster for cluster in bed.clusters}
    for shard in range(bed.shards):
        yield encode_updates(bed, size, owners[shard].workers[0])
