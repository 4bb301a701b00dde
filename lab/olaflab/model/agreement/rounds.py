"""The event-level model next to the twin on rounds over several engines: the same contributions at each."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from math import inf

import numpy as np
from numpy.typing import NDArray

from olafctl.control.desired import index_range
from olafctl.membership.model import default_mac
from olafctl.queue.registers import rate_word
from olafctl.targets.interface import Registers, Running, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, FrameType
from olafctl.wire.modes import Mode
from olaflab.model.agreement.tree import (
    DRAINED,
    FASTER,
    FIRST,
    Timed,
    count_differences,
    engines_at,
    timed_difference,
)
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Trace
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of
from olaftest.queue.model import CYCLE_NS

_LOADS = (0.2, 0.7, 2.0)
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


def rounds_agreement(
    testbed: Testbed,
    contributions: int,
    seed: int,
    *,
    far: bool,
    per_load: int = 20_000,
    progress: Callable[[str], None] = lambda step: None,
) -> RoundsAgreement:
    """Compare both on about so many random contributions, ``per_load`` of each random load.

    The testbed's clusters all send in rounds, and the workers of each are spread over the front ports of all
    engines. A result that comes down through a lower engine takes its input and its output for some cycles,
    in the twin alone. With ``far`` the links between engines are so long that results come down when all
    contributions of a load have been sent: then nothing may differ.

    Raises OlafError when the twin cannot be deployed.
    """
    pick, spread = random.Random(seed), _in_rounds(testbed, far)
    parts = list[RoundsAgreement]()
    with deployed_testbed(spread, progress) as running:
        for done in range(0, contributions, per_load):
            parts.append(_compare_load(spread, running, pick, min(per_load, contributions - done)))
            progress(f"{sum(part.contributions for part in parts)} contributions compared")
    names = RoundsAgreement.__dataclass_fields__
    total = RoundsAgreement(*(sum(getattr(part, name) for part in parts) for name in names))
    return replace(total, latest=max(part.latest for part in parts))


def _in_rounds(testbed: Testbed, far: bool) -> Testbed:
    ports = [port.number for port in testbed.ports]
    clusters = tuple(
        replace(
            cluster,
            mode=Mode.ISWITCH,
            threshold=len(cluster.workers),
            workers=tuple(
                replace(worker, port=ports[(cluster.number + worker.number) % len(ports)])
                for worker in cluster.workers
            ),
        )
        for cluster in testbed.clusters
    )
    root = replace(testbed.root, address=testbed.root.address or _ADDRESS)
    links = tuple(
        replace(link, delay=_FAR) if far and link.peer is not None else link for link in testbed.links
    )
    return replace(testbed, engines=(root, *testbed.engines[1:]), clusters=clusters, links=links)


def _compare_load(
    testbed: Testbed, running: Running, pick: random.Random, contributions: int
) -> RoundsAgreement:
    """One random load through both."""
    size = BEAT_BYTES * pick.randint(2, testbed.beats)
    faster = pick.choice(FASTER)
    engines = tuple(
        replace(
            engine,
            mode=Mode.ISWITCH,
            modes={},
            accumulate_quota=pick.choice((engine.slots, pick.randint(1, engine.slots))),
        )
        for engine in engines_at(testbed, faster)
    )
    trace = _draw_arrivals(testbed, engines, pick, contributions, size)
    segments = {cluster.number: cluster.segments for cluster in testbed.clusters}
    length = int(trace.time[-1]) + DRAINED + sum(engine.link.delay for engine in engines)
    ours = run_simulation(Scenario(engines, trace=trace, segments=segments), length, record=True)
    for engine in engines:
        _with_settings(running.queues[engine.name], testbed, engine)
    theirs = _run_twin(running, testbed, trace)
    mine = _model_results(ours)
    of_members = [
        (timed_difference(mine[testbed.cluster_of(worker).number], theirs[worker.replica]), worker)
        for worker in testbed.workers
    ]
    topology = Topology(testbed)
    return RoundsAgreement(
        contributions=len(trace.time),
        results=sum(len(theirs[cluster.workers[0].replica]) for cluster in testbed.clusters),
        copies=sum(map(len, theirs.values())),
        different_copies=len(theirs[_STRAY]) + sum(different for (different, _), _ in of_members),
        different_counts=sum(count_differences(ours, name, one) for name, one in running.queues.items()),
        latest=max(
            (
                late
                for (_, late), worker in of_members
                if topology.home(worker) == topology.top(testbed.cluster_of(worker))
            ),
            default=0,
        ),
    )


def _model_results(ours: Result) -> Mapping[int, Sequence[Timed]]:
    """Ours, by cluster."""
    seen = ours.receptions
    assert seen is not None
    found = defaultdict[int, list[Timed]](list)
    columns = (seen.cluster, seen.time // 1000, seen.index, seen.generated // 1000, seen.count)
    for cluster, at, *result in np.column_stack(columns).tolist():
        index, generated, count = result
        found[cluster].append((at, (index, generated, count)))
    return found


def _draw_arrivals(
    testbed: Testbed, engines: Sequence[EngineModel], pick: random.Random, contributions: int, size: int
) -> Trace:
    """On the cycle. Every index has its rounds, to which each member contributes at a random time; what goes
    the shorter way is sent later, so that a round meets at the top."""
    topology = Topology(testbed)
    ways = _ways_up(engines, size)
    indices = [(cluster, segment) for cluster in testbed.clusters for segment in range(cluster.segments)]
    each_round = sum(len(cluster.workers) for cluster, _ in indices)
    rounds = max(contributions // each_round, 1)
    slowest = size * 8e9 / min(rate or inf for engine in engines for rate in (engine.rate, engine.link.rate))
    gap = max(
        len(indices) * slowest / pick.choice(_LOADS), _LEAST_GAP * each_round * size / BEAT_BYTES * CYCLE_NS
    )
    spread = gap * pick.choice(_SPREADS)
    drawn = np.random.default_rng(pick.getrandbits(32))
    rows = list[tuple[int, str, int, int, int, int]]()
    for cluster, segment in indices:
        begin = FIRST + drawn.uniform(0, gap)
        for worker in cluster.workers:
            home = topology.home(worker)
            sent, numbers = _draw_contributions(drawn, rounds)
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


def _draw_contributions(
    drawn: np.random.Generator, rounds: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """In which of ``rounds`` a member contributes, and the number in each contribution, from 1 on."""
    sent = np.flatnonzero(drawn.random(rounds) >= _MISSING)
    sent = np.concatenate([sent, sent[drawn.random(len(sent)) < _REPEATED]])
    wrong = drawn.choice((-1, 0, 1), len(sent), p=(_WRONG_ROUND / 2, 1 - _WRONG_ROUND, _WRONG_ROUND / 2))
    return sent, 2 + sent + wrong


def _ways_up(engines: Sequence[EngineModel], size: int) -> Mapping[str, float]:
    """ns that a frame takes on the links from each engine to the root."""
    by_name = {engine.name: engine for engine in engines}

    def way(name: str) -> float:
        link = by_name[name].link
        return 0.0 if link.to is None else link.delay + size * 8e9 / (link.rate or inf) + way(link.to)

    return {name: way(name) for name in by_name}


def _with_settings(registers: Registers, testbed: Testbed, engine: EngineModel) -> None:
    """The settings of a deployment, with the engine's rate and quota."""
    topology = Topology(testbed)
    here = next(one for one in testbed.engines if one.name == engine.name)
    for cluster in testbed.clusters:
        part = index_range(cluster, here, topology)
        registers.configure(part.first, part.last, part.settings)
    registers.write("rate", rate_word(round(engine.rate or 0)))
    registers.write("accumulate_quota", engine.quota)


def _run_twin(running: Running, testbed: Testbed, trace: Trace) -> Mapping[int, Sequence[Timed]]:
    """What each of the twin's members receives, by its replica id."""
    found = defaultdict[int, list[Timed]](list)
    hosts = {(worker.port, worker.mac): worker for worker in testbed.workers}
    for left in running.replay(_make_contributions(testbed, trace)):
        frame = OlafFrame.decode(left.frame)
        member = hosts.get((left.port, frame.destination.mac))
        stray = member is None or frame.frame_type is not FrameType.RESULT
        first = 0 if member is None else testbed.cluster_of(member).first
        result = (first + frame.segment, frame.gen_time, frame.count)
        found[_STRAY if stray or member is None else member.replica].append((left.time, result))
    return found


def _make_contributions(testbed: Testbed, trace: Trace) -> Iterator[TimedFrame]:
    address = testbed.root.address
    assert address is not None and trace.round is not None and trace.segment is not None
    to = Endpoint(default_mac(address), address, testbed.udp_port)
    gradient = np.zeros((trace.size - GRADIENT_OFFSET) // 4, np.float32)
    columns = (trace.time, trace.cluster, trace.worker, trace.round, trace.segment)
    for at, number, member, round_, segment in zip(*(column.tolist() for column in columns), strict=True):
        cluster = testbed.clusters[number]
        worker = cluster.workers[member]
        contribution = OlafFrame(
            *(endpoint_of(worker), to, FrameType.UPDATE, 0, 1, round_, 0.0, at, gradient),
            epoch=cluster.epoch,
            segment=segment,
        )
        yield TimedFrame(at, worker.port, contribution.encode())
