"""Compares the event-level model with the twin on a testbed's engines: the same random arrivals at each."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from olafctl.control.desired import index_range
from olafctl.membership.model import Cluster, Member, default_mac
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_of, rate_word
from olafctl.targets.interface import Progress, Registers, Running, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, FrameType
from olafctl.wire.modes import Mode
from olaflab.model.from_testbed import engines_of
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Trace
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of
from olaftest.queue.model import CYCLE_NS

_FASTER = (1, 30, 1000)
"""Factors of the testbed's rates."""
_UNLIMITED = 10**9
"""bit/s in place of no limit, before it is made faster."""
_FASTEST = 100 * 10**9
_LOADS = (0.5, 1.5, 5.0, 15.0)
"""What an engine's own workers offer, in terms of its rate."""
_FIRST = 4000
"""ns of the first arrival."""
_DRAINED = 1000 * 10**9
"""ns after the last arrival, when nothing is under way."""
_RESULT_LOADS = (0.2, 0.7, 2.0)
"""Results that are requested, in terms of what the slowest output or link takes."""
_LEAST_GAP = 1.5
"""Between two rounds of an index, in terms of what all contributions to one take at one input."""
_SPREADS = (0.05, 0.3, 1.2)
"""From the first to the last contribution of a round, in terms of the time between two rounds."""
_MISSING, _REPEATED, _WRONG_ROUND = 0.005, 0.02, 0.002
"""Shares of contributions that are not sent, sent again, and sent to the round before or after."""
_FAR = 2000 * 10**9
"""ns: longer than any load lasts."""
_ADDRESS = IPv4Address("10.255.255.254")
"""The members' server address, if the testbed does not give one."""
_STRAY = 0
"""The replica id of frames that are not a result for a member."""
Left = tuple[int, int, int]
"""A frame at its end: its cluster or index, when its newest update was generated, its count."""
Timed = tuple[int, Left]
"""An arrival or departure with its time in ns."""


@dataclass(frozen=True)
class TreeAgreement:
    """How random arrivals ended in both models of the same engines."""

    updates: int
    frames: int
    """Frames that the twin's parameter server received."""
    different_frames: int
    """Frames of one model that the other did not send: of another cluster, newest update or count."""
    different_counts: int
    """Sum of the differences in the counts of appended, merged, replaced and dropped updates."""
    latest: int
    """ns: the greatest difference between the times of two equal frames."""


@dataclass(frozen=True)
class RoundsAgreement:
    """How random contributions to rounds ended in both models of the same engines."""

    contributions: int
    results: int
    """Results of the twin: each goes to all members of its cluster."""
    copies: int
    """Copies of results that the twin's members received."""
    different_copies: int
    """Results that a member received in one model only: of another index, newest contribution or count."""
    different_counts: int
    """Sum of the differences in the engines' counts of dispositions of contributions."""
    latest: int
    """ns: the greatest difference between the times of equal results, at the engine that distributes them."""


_Agreement = TypeVar("_Agreement", TreeAgreement, RoundsAgreement)
_Compare = Callable[[Testbed, Running, random.Random, int], _Agreement]
"""Compares both models on so many arrivals of one random load."""


def _say_nothing(step: str) -> None:
    pass


def tree_agreement(
    testbed: Testbed, updates: int, seed: int, *, per_load: int = 5000, progress: Progress = _say_nothing
) -> TreeAgreement:
    """Compare both on ``updates`` random arrivals, ``per_load`` of each random load.

    Every engine with workers gets updates of its opportunistic clusters, from half to many times what its
    output takes. Raises OlafError when the twin cannot be deployed.
    """
    return _compare_loads(testbed, _compare_updates, updates, seed, per_load, progress)


def rounds_agreement(
    testbed: Testbed,
    contributions: int,
    seed: int,
    *,
    far: bool,
    per_load: int = 20_000,
    progress: Progress = _say_nothing,
) -> RoundsAgreement:
    """Compare both on about so many random contributions, ``per_load`` of each random load.

    The testbed's clusters all send in rounds, and the workers of each are spread over the front ports of all
    engines. A result that comes down through a lower engine takes its input and its output for some cycles,
    in the twin alone. With ``far`` the links between engines are so long that results come down when all
    contributions of a load have been sent: then nothing may differ.

    Raises OlafError when the twin cannot be deployed.
    """
    return _compare_loads(
        _spread_rounds(testbed, far), _compare_contributions, contributions, seed, per_load, progress
    )


def _compare_loads(
    testbed: Testbed, compare: _Compare[_Agreement], number: int, seed: int, per_load: int, progress: Progress
) -> _Agreement:
    """Compare one load after the other on one deployed twin, and add up."""
    pick, parts = random.Random(seed), list[_Agreement]()
    with deployed_testbed(testbed, progress) as running:
        for done in range(0, number, per_load):
            parts.append(compare(testbed, running, pick, min(per_load, number - done)))
            progress(f"{done + per_load} of {number} arrivals compared")
    first, *others = parts
    for part in others:
        sums = {name: value + getattr(part, name) for name, value in vars(first).items()}
        first = replace(first, **{**sums, "latest": max(first.latest, part.latest)})
    return first


def _compare_updates(testbed: Testbed, running: Running, pick: random.Random, updates: int) -> TreeAgreement:
    size = BEAT_BYTES * pick.randint(2, min(engine.beats for engine in testbed.engines))
    faster, mode = pick.choice(_FASTER), Mode.FIFO if pick.random() < 0.2 else Mode.OLAF
    engines = tuple(replace(engine, mode=mode, modes={}) for engine in _speed_up(testbed, faster))
    opportunistic = [cluster for cluster in testbed.clusters if not testbed.mode_of(cluster).sums]
    topology = Topology(testbed)
    senders = {
        engine.name: [
            worker
            for cluster in opportunistic
            for worker in cluster.workers
            if topology.home(worker) == engine.name
        ]
        for engine in engines
    }
    trace = _draw_updates(testbed, engines, senders, pick, updates, size)
    ours = _run_model(testbed, engines, trace, _DRAINED)
    for engine in engines:
        for cluster in opportunistic:
            running.queues[engine.name].configure(
                cluster.first, cluster.first + cluster.segments - 1, IndexSettings(engine.mode)
            )
        running.queues[engine.name].write("rate", rate_word(round(engine.rate or 0)))
    server = testbed.parameter_servers[0]
    clusters = {worker.ip: cluster.number for cluster in testbed.clusters for worker in cluster.workers}
    theirs = [
        (left.time, (clusters[update.source.ip], update.gen_time, update.count))
        for left in running.replay(encode_trace(testbed, trace, endpoint_of(server)))
        if left.port == server.port
        for update in (OlafFrame.decode(left.frame),)
    ]
    mine = [(at, (cluster, born, count)) for at, cluster, _, born, count in _list_receptions(ours)]
    different, latest = _compare_timed(mine, theirs)
    return TreeAgreement(updates, len(theirs), different, _compare_counts(ours, running), latest)


def _compare_contributions(
    testbed: Testbed, running: Running, pick: random.Random, contributions: int
) -> RoundsAgreement:
    size = BEAT_BYTES * pick.randint(2, testbed.beats)
    faster = pick.choice(_FASTER)
    engines = tuple(
        replace(
            engine,
            mode=Mode.ISWITCH,
            modes={},
            accumulate_quota=pick.choice((engine.slots, pick.randint(1, engine.slots))),
        )
        for engine in _speed_up(testbed, faster)
    )
    trace = _draw_contributions(testbed, engines, pick, contributions, size)
    ours = _run_model(testbed, engines, trace, _DRAINED + sum(engine.link.delay for engine in engines))
    for engine in engines:
        _write_round_settings(running.queues[engine.name], testbed, engine)
    address = testbed.root.address
    assert address is not None
    to = Endpoint(default_mac(address), address, testbed.udp_port)
    theirs = _replay_results(running, testbed, encode_trace(testbed, trace, to))
    mine = defaultdict[int, list[Timed]](list)
    for at, cluster, index, born, count in _list_receptions(ours):
        mine[cluster].append((at, (index, born, count)))
    of_members = [
        (_compare_timed(mine[testbed.cluster_of(worker).number], theirs[worker.replica]), worker)
        for worker in testbed.workers
    ]
    topology = Topology(testbed)
    return RoundsAgreement(
        contributions=len(trace.time),
        results=sum(len(theirs[cluster.workers[0].replica]) for cluster in testbed.clusters),
        copies=sum(map(len, theirs.values())),
        different_copies=len(theirs[_STRAY]) + sum(different for (different, _), _ in of_members),
        different_counts=_compare_counts(ours, running),
        latest=max(
            (
                late
                for (_, late), worker in of_members
                if topology.home(worker) == topology.top(testbed.cluster_of(worker))
            ),
            default=0,
        ),
    )


def _run_model(testbed: Testbed, engines: tuple[EngineModel, ...], trace: Trace, after: int) -> Result:
    """Simulate until ``after`` ns after the last arrival."""
    segments = {cluster.number: cluster.segments for cluster in testbed.clusters}
    scenario = Scenario(engines, trace=trace, segments=segments)
    return run_simulation(scenario, int(trace.time[-1]) + after, record=True)


def _list_receptions(ours: Result) -> list[list[int]]:
    """Return ns, cluster, index, ns of the newest update, and count of each frame at the server."""
    seen = ours.receptions
    assert seen is not None
    columns = (seen.time // 1000, seen.cluster, seen.index, seen.generated // 1000, seen.count)
    found: list[list[int]] = np.column_stack(columns).tolist()
    return found


def _speed_up(testbed: Testbed, faster: int) -> tuple[EngineModel, ...]:
    """Return the testbed's engines so many times as fast, at rates that the register holds exactly."""
    return tuple(
        replace(engine, rate=rate_of(rate_word(rate)))
        for engine in engines_of(testbed)
        for rate in (min(round((engine.rate or _UNLIMITED) * faster), _FASTEST),)
    )


def _spread_rounds(testbed: Testbed, far: bool) -> Testbed:
    """Let all clusters send in rounds, from the front ports of all engines."""
    ports = [port.number for port in testbed.ports]

    def spread_cluster(cluster: Cluster) -> Cluster:
        workers = tuple(
            replace(worker, port=ports[(cluster.number + worker.number) % len(ports)])
            for worker in cluster.workers
        )
        return replace(cluster, mode=Mode.ISWITCH, threshold=len(workers), workers=workers)

    root = replace(testbed.root, address=testbed.root.address or _ADDRESS)
    links = tuple(
        replace(link, delay=_FAR) if far and link.peer is not None else link for link in testbed.links
    )
    clusters = tuple(map(spread_cluster, testbed.clusters))
    return replace(testbed, engines=(root, *testbed.engines[1:]), clusters=clusters, links=links)


def _draw_updates(
    testbed: Testbed,
    engines: Sequence[EngineModel],
    senders: Mapping[str, Sequence[Member]],
    pick: random.Random,
    updates: int,
    size: int,
) -> Trace:
    """Draw arrivals on the cycle; at one engine none comes before the update before has arrived."""
    busy = [engine for engine in engines if senders[engine.name]]
    drawn = np.random.default_rng(pick.getrandbits(32))
    times, names, who = [], [], list[Member]()
    for engine in busy:
        assert engine.rate is not None
        cycles = size * 8 / engine.rate / pick.choice(_LOADS) * CLOCK_HZ
        least = size // BEAT_BYTES
        number = updates // len(busy) + (engine is busy[0]) * (updates % len(busy))
        gaps = drawn.integers(least, max(round(2 * cycles) - least, least) + 1, number)
        times.append(_FIRST + np.cumsum(gaps) * CYCLE_NS)
        names += [engine.name] * number
        who += [senders[engine.name][place] for place in drawn.integers(0, len(senders[engine.name]), number)]
    order = np.argsort(np.concatenate(times), kind="stable")
    sent = [who[place] for place in order]
    return Trace(
        np.array(names)[order],
        np.concatenate(times)[order],
        np.array([testbed.cluster_of(worker).number for worker in sent]),
        np.array([worker.number for worker in sent]),
        size,
    )


def _draw_contributions(
    testbed: Testbed, engines: Sequence[EngineModel], pick: random.Random, contributions: int, size: int
) -> Trace:
    """Draw arrivals on the cycle. Every index has its rounds, to which each member contributes at a random
    time; what goes the shorter way is sent later, so that a round meets at the top."""
    topology = Topology(testbed)
    ways = _measure_ways(engines, size)
    indices = [(cluster, segment) for cluster in testbed.clusters for segment in range(cluster.segments)]
    each_round = sum(len(cluster.workers) for cluster, _ in indices)
    rounds = max(contributions // each_round, 1)
    slowest = size * 8e9 / min(rate or inf for engine in engines for rate in (engine.rate, engine.link.rate))
    gap = max(
        len(indices) * slowest / pick.choice(_RESULT_LOADS),
        _LEAST_GAP * each_round * size / BEAT_BYTES * CYCLE_NS,
    )
    spread = gap * pick.choice(_SPREADS)
    drawn = np.random.default_rng(pick.getrandbits(32))
    rows = list[tuple[int, str, int, int, int, int]]()
    for cluster, segment in indices:
        begin = _FIRST + drawn.uniform(0, gap)
        for worker in cluster.workers:
            home = topology.home(worker)
            sent, numbers = _draw_rounds(drawn, rounds)
            late = drawn.uniform(0, spread, len(sent)) + max(ways.values()) - ways[home]
            cycles = (begin + sent * gap + late) // CYCLE_NS
            rows += (
                (at, home, cluster.number, worker.number, number, segment)
                for at, number in zip((cycles.astype(int) * CYCLE_NS).tolist(), numbers.tolist(), strict=True)
            )
    pick.shuffle(rows)
    rows.sort(key=lambda row: row[0])
    at, home_, of, worker_, round_, segment_ = (np.array(column) for column in zip(*rows, strict=True))
    return Trace(home_, at, of, worker_, size, round_, segment_)


def _draw_rounds(drawn: np.random.Generator, rounds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw in which of ``rounds`` a member contributes, and the number in each contribution, from 1 on."""
    sent = np.flatnonzero(drawn.random(rounds) >= _MISSING)
    sent = np.concatenate([sent, sent[drawn.random(len(sent)) < _REPEATED]])
    wrong = drawn.choice((-1, 0, 1), len(sent), p=(_WRONG_ROUND / 2, 1 - _WRONG_ROUND, _WRONG_ROUND / 2))
    return sent, 2 + sent + wrong


def _measure_ways(engines: Sequence[EngineModel], size: int) -> Mapping[str, float]:
    """Return ns that a frame takes on the links from each engine to the root."""
    by_name = {engine.name: engine for engine in engines}

    def way(name: str) -> float:
        link = by_name[name].link
        return 0.0 if link.to is None else link.delay + size * 8e9 / (link.rate or inf) + way(link.to)

    return {name: way(name) for name in by_name}


def _write_round_settings(registers: Registers, testbed: Testbed, engine: EngineModel) -> None:
    """Write the settings of a deployment, with the engine's rate and quota."""
    topology = Topology(testbed)
    here = next(one for one in testbed.engines if one.name == engine.name)
    for cluster in testbed.clusters:
        part = index_range(cluster, here, topology)
        registers.configure(part.first, part.last, part.settings)
    registers.write("rate", rate_word(round(engine.rate or 0)))
    registers.write("accumulate_quota", engine.quota)


def encode_trace(testbed: Testbed, trace: Trace, to: Endpoint) -> Iterator[TimedFrame]:
    """Yield the frames of a trace, numbered by their rounds where it has any."""
    gradient = np.zeros((trace.size - GRADIENT_OFFSET) // 4, np.float32)
    nothing = np.zeros(len(trace.time), np.int64)
    numbers = np.arange(len(trace.time)) if trace.round is None else trace.round
    segments = nothing if trace.segment is None else trace.segment
    columns = (trace.time, trace.cluster, trace.worker, numbers, segments)
    for at, number, member, seq, segment in zip(*(column.tolist() for column in columns), strict=True):
        cluster = testbed.clusters[number]
        worker = cluster.workers[member]
        frame = OlafFrame(
            *(endpoint_of(worker), to, FrameType.UPDATE, 0, 1, seq, 0.0, at, gradient),
            epoch=cluster.epoch,
            segment=segment,
        )
        yield TimedFrame(at, worker.port, frame.encode())


def _replay_results(
    running: Running, testbed: Testbed, frames: Iterator[TimedFrame]
) -> Mapping[int, Sequence[Timed]]:
    """Return what each of the twin's members receives, by its replica id."""
    found = defaultdict[int, list[Timed]](list)
    hosts = {(worker.port, worker.mac): worker for worker in testbed.workers}
    for left in running.replay(frames):
        frame = OlafFrame.decode(left.frame)
        member = hosts.get((left.port, frame.destination.mac))
        stray = member is None or frame.frame_type is not FrameType.RESULT
        first = 0 if member is None else testbed.cluster_of(member).first
        result = (first + frame.segment, frame.gen_time, frame.count)
        found[_STRAY if stray or member is None else member.replica].append((left.time, result))
    return found


def _compare_timed(mine: Sequence[Timed], theirs: Sequence[Timed]) -> tuple[int, int]:
    """Return how many frames of one the other lacks, and the greatest difference in ns of all others."""
    missing = Counter(frame for _, frame in mine)
    missing.subtract(frame for _, frame in theirs)
    # Two may be equal: by a newest update of the same cycle, of another worker.
    times = defaultdict[Left, list[int]](list)
    for at, frame in mine:
        times[frame].append(at)
    late = (abs(at - times[frame].pop(0)) for at, frame in theirs if times[frame])
    return sum(map(abs, missing.values())), max(late, default=0)


def _compare_counts(ours: Result, running: Running) -> int:
    """Return the sum of the differences in the counts of all engines."""
    different = 0
    for engine, registers in running.queues.items():
        mine, theirs = ours.engines[engine], registers.read_all()
        different += sum(abs(mine[name] - theirs[name]) for name in mine if name in theirs)
    return different
