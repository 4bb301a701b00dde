"""The event-level model next to the twin on a testbed of several engines: the same arrivals at each."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from olafctl.membership.model import Cluster, Member
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_of, rate_word
from olafctl.targets.interface import Registers, Running, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, FrameType
from olafctl.wire.modes import Mode
from olaflab.model.from_testbed import engines_of
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Trace
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of
from olaftest.queue.model import CYCLE_NS

FASTER = (1, 30, 1000)
"""Times the testbed's rates."""
_UNLIMITED = 10**9
"""bit/s in place of no limit, before it is made faster."""
_FASTEST = 100 * 10**9
_LOADS = (0.5, 1.5, 5.0, 15.0)
"""What an engine's own workers offer, in terms of its rate."""
FIRST = 4000
"""ns of the first arrival."""
DRAINED = 1000 * 10**9
"""ns after the last arrival, when nothing is under way."""
Left = tuple[int, int, int]
"""A frame at its end: its cluster or index, when its newest update was generated, its count."""
Timed = tuple[int, Left]
"""An arrival or departure with its time in ns."""


@dataclass(frozen=True)
class TreeAgreement:
    """How random arrivals ended in both models of the same engines."""

    updates: int
    frames: int
    """That the twin's parameter server received."""
    different_frames: int
    """Frames of one model that the other did not send: of another cluster, newest update or count."""
    different_counts: int
    """Sum of the differences in the counts of appended, merged, replaced and dropped updates."""
    latest: int
    """ns: the greatest difference between the times of two equal frames."""


def tree_agreement(
    testbed: Testbed,
    updates: int,
    seed: int,
    *,
    per_load: int = 5000,
    progress: Callable[[str], None] = lambda step: None,
) -> TreeAgreement:
    """Compare both on ``updates`` random arrivals, ``per_load`` of each random load.

    Every engine with workers gets updates of its opportunistic clusters, from half to many times what its
    output takes. Raises OlafError when the twin cannot be deployed.
    """
    pick, parts = random.Random(seed), list[TreeAgreement]()
    with deployed_testbed(testbed, progress) as running:
        for done in range(0, updates, per_load):
            parts.append(_compare_load(testbed, running, pick, min(per_load, updates - done)))
            progress(f"{done + parts[-1].updates} updates compared")
    names = TreeAgreement.__dataclass_fields__
    total = TreeAgreement(*(sum(getattr(part, name) for part in parts) for name in names))
    return replace(total, latest=max(part.latest for part in parts))


def _compare_load(testbed: Testbed, running: Running, pick: random.Random, updates: int) -> TreeAgreement:
    """One random load through both."""
    size = BEAT_BYTES * pick.randint(2, min(engine.beats for engine in testbed.engines))
    faster, mode = pick.choice(FASTER), Mode.FIFO if pick.random() < 0.2 else Mode.OLAF
    engines = tuple(replace(engine, mode=mode, modes={}) for engine in engines_at(testbed, faster))
    senders = {
        name: [
            worker
            for cluster in _make_opportunistic(testbed)
            for worker in _engine_at(testbed, name, cluster)
        ]
        for name in (engine.name for engine in engines)
    }
    trace, sent = _draw_arrivals(testbed, engines, senders, pick, updates, size)
    segments = {cluster.number: cluster.segments for cluster in testbed.clusters}
    length = int(trace.time[-1]) + DRAINED
    ours = run_simulation(Scenario(engines, trace=trace, segments=segments), length, record=True)
    for engine in engines:
        _with_settings(running.queues[engine.name], engine, _make_opportunistic(testbed))
    theirs = _run_twin(running, testbed, trace, sent)
    different, latest = timed_difference(_model_receptions(ours), theirs)
    return TreeAgreement(
        updates=updates,
        frames=len(theirs),
        different_frames=different,
        different_counts=sum(count_differences(ours, name, one) for name, one in running.queues.items()),
        latest=latest,
    )


def engines_at(testbed: Testbed, faster: int) -> tuple[EngineModel, ...]:
    """The testbed's so many times as fast, at rates that the register holds exactly."""
    return tuple(
        replace(engine, rate=rate_of(rate_word(rate)))
        for engine in engines_of(testbed)
        for rate in (min(round((engine.rate or _UNLIMITED) * faster), _FASTEST),)
    )


def _make_opportunistic(testbed: Testbed) -> Sequence[Cluster]:
    return [cluster for cluster in testbed.clusters if not testbed.mode_of(cluster).sums]


def _engine_at(testbed: Testbed, engine: str, cluster: Cluster) -> Sequence[Member]:
    topology = Topology(testbed)
    return [worker for worker in cluster.workers if topology.home(worker) == engine]


def _draw_arrivals(
    testbed: Testbed,
    engines: Sequence[EngineModel],
    senders: Mapping[str, Sequence[Member]],
    pick: random.Random,
    updates: int,
    size: int,
) -> tuple[Trace, Sequence[Member]]:
    """On the cycle; at one engine never before the update before has arrived."""
    busy = [engine for engine in engines if senders[engine.name]]
    drawn = np.random.default_rng(pick.getrandbits(32))
    times, names, who = [], [], list[Member]()
    for engine in busy:
        assert engine.rate is not None
        cycles = size * 8 / engine.rate / pick.choice(_LOADS) * CLOCK_HZ
        least = size // BEAT_BYTES
        number = updates // len(busy) + (engine is busy[0]) * (updates % len(busy))
        gaps = drawn.integers(least, max(round(2 * cycles) - least, least) + 1, number)
        times.append(FIRST + np.cumsum(gaps) * CYCLE_NS)
        names += [engine.name] * number
        who += [senders[engine.name][place] for place in drawn.integers(0, len(senders[engine.name]), number)]
    order = np.argsort(np.concatenate(times), kind="stable")
    sent = [who[place] for place in order]
    trace = Trace(
        np.array(names)[order],
        np.concatenate(times)[order],
        np.array([testbed.cluster_of(worker).number for worker in sent]),
        np.array([worker.number for worker in sent]),
        size,
    )
    return trace, sent


def _with_settings(registers: Registers, engine: EngineModel, clusters: Sequence[Cluster]) -> None:
    for cluster in clusters:
        registers.configure(cluster.first, cluster.first + cluster.segments - 1, IndexSettings(engine.mode))
    registers.write("rate", rate_word(round(engine.rate or 0)))


def _run_twin(running: Running, testbed: Testbed, trace: Trace, sent: Sequence[Member]) -> Sequence[Timed]:
    """What the twin's parameter server receives."""
    server = testbed.parameter_servers[0]
    gradient = np.zeros((trace.size - GRADIENT_OFFSET) // 4, np.float32)

    def frames() -> Iterator[TimedFrame]:
        for seq, (when, worker) in enumerate(zip(trace.time.tolist(), sent, strict=True)):
            update = OlafFrame(
                endpoint_of(worker), endpoint_of(server), FrameType.UPDATE, 0, 1, seq, 0.0, when, gradient
            )
            yield TimedFrame(when, worker.port, update.encode())

    left = []
    for frame in running.replay(frames()):
        if frame.port == server.port:
            update = OlafFrame.decode(frame.frame)
            left.append((frame.time, (int(trace.cluster[update.seq]), update.gen_time, update.count)))
    return left


def _model_receptions(ours: Result) -> Sequence[Timed]:
    """What our parameter server receives."""
    seen = ours.receptions
    assert seen is not None
    columns = (seen.time // 1000, seen.cluster, seen.generated // 1000, seen.count)
    return [(row[0], (row[1], row[2], row[3])) for row in np.column_stack(columns).tolist()]


def timed_difference(mine: Sequence[Timed], theirs: Sequence[Timed]) -> tuple[int, int]:
    """How many frames of one the other lacks, and the greatest difference in time of the others; ns."""
    missing = Counter(frame for _, frame in mine)
    missing.subtract(frame for _, frame in theirs)
    # Two may be equal: by a newest update of the same cycle, of another worker.
    times = defaultdict[Left, list[int]](list)
    for at, frame in mine:
        times[frame].append(at)
    late = (abs(at - times[frame].pop(0)) for at, frame in theirs if times[frame])
    return sum(map(abs, missing.values())), max(late, default=0)


def count_differences(ours: Result, engine: str, registers: Registers) -> int:
    mine, theirs = ours.engines[engine], registers.read_all()
    return sum(abs(mine[name] - theirs[name]) for name in mine if name in theirs)
