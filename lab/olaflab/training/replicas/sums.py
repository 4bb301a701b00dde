"""Exact sums over links that lose, double and reorder datagrams: the SDK's members through whole engines.

Every contribution can be told apart in a sum, so each result is taken apart and compared with the exact sum
of the contributions in it: none may be in two results (iSwitch §3 and §4).
"""

import random
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from olaf.rounds.rounds import Rounds
from olaf.transport.segments import Segments, Vector
from olaf.transport.virtual import VirtualNetwork

from olafctl.targets.interface import Progress, Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import segment_values
from olafctl.wire.modes import Mode
from olaflab.training.cosim.medium import EngineMedium, address_of
from olaflab.training.replicas.lossy import LossyPort
from olaflab.training.replicas.plan import MemberTask, ReplicaPlan, make_testbed, run_virtual
from olafswitch.errors import OlafError, Problem
from olaftest.deployment import using_hosts

MEMBERS, SEGMENTS = 4, 2
_VALUES = 600
_CHECKS, _PLACES = 16, 64
"""Values that identify a contribution by their sum; and by its place, its member's number modulo _PLACES."""
_HEADERS = 28 + 22
_BATCH = 100
_LONGEST = 3600.0


@dataclass
class RoundFigures:
    """Frames that synchronous rounds took, of all members together."""

    rounds: int = 0
    lost: int = 0
    contributions: int = 0
    repeated: int = 0
    """Contributions sent again."""
    helps: int = 0
    forwarded: int = 0
    """Requests for help that went to another member."""
    resent: int = 0
    """Results that a member sent to another."""
    resets: int = 0
    """Rounds begun again under another number, because their result reached no member."""
    milliseconds: float = 0.0
    """Virtual time."""
    counters: dict[str, int] = field(default_factory=dict)
    """Counters of the queue."""


@dataclass
class NumberedFigures:
    """Cost of numbered sums, of all members together."""

    contributions: int = 0
    sent: int = 0
    lost: int = 0
    doubled: int = 0
    results: int = 0
    taken: int = 0
    """Contributions that are in a result."""
    helped: int = 0
    """Results that a member had from another."""
    void: int = 0
    """Results that reached no member."""
    counters: dict[str, int] = field(default_factory=dict)
    """Updates that the root's queue dropped."""


def _make_plan(results: int, chance: float, seed: int, levels: int = 1) -> ReplicaPlan:
    return ReplicaPlan(
        members=MEMBERS, results=results, values=_VALUES, h=MEMBERS, staleness=3, loss=chance, kill=False,
        late=False, levels=levels, pace=0.001, seed=seed, target="twin", double=chance,
    )  # fmt: skip


def sum_rounds(rounds: int, chance: float, seed: int, progress: Progress) -> RoundFigures:
    """Reduce ``rounds`` random vectors; each datagram is lost, doubled and overtaken with ``chance``.

    Raises OlafError when a member's sum is not exact, or a round does not end.
    """
    bed = make_testbed(_make_plan(rounds, chance, seed), "unix", Mode.ISWITCH)
    with using_hosts(bed, progress, False) as (_, running, _), closing(running.virtual_time()) as engine:
        network = VirtualNetwork(EngineMedium(engine, bed))
        ports, members = _make_members(network, bed, chance, seed)
        draw = np.random.default_rng(seed)
        for first in range(0, rounds, _BATCH):
            _reduce_batch(network, members, draw, min(_BATCH, rounds - first))
        return RoundFigures(
            rounds=rounds,
            lost=sum(port.lost for port in ports),
            contributions=sum(each.counters.sent for each in members),
            repeated=sum(each.counters.again for each in members),
            helps=sum(each.counters.helps for each in members),
            forwarded=sum(each.counters.helps for each in members) * (MEMBERS - 1),
            resent=sum(each.counters.helped for each in members),
            resets=sum(each.counters.remade for each in members),
            milliseconds=network.time * 1e3,
            counters=_read_counters(running, "dropped_", "appended", "merged", "out_updates"),
        )


def _make_members(
    network: VirtualNetwork, bed: Testbed, chance: float, seed: int
) -> tuple[list[LossyPort], list[Rounds]]:
    (cluster,) = bed.clusters
    places = [address_of(worker) for worker in cluster.workers]
    ports = [
        LossyPort(network.port(place), chance, 100 * seed + number, double=chance, delay=chance)
        for number, place in enumerate(places)
    ]
    return ports, [
        Rounds(
            port,
            (str(bed.root.address), bed.udp_port),
            MEMBERS,
            segments=SEGMENTS,
            mtu=_HEADERS + 4 * segment_values(bed.root.beats),
            epoch=cluster.epoch,
            peers=[other for other in places if other != place],
        )
        for port, place in zip(ports, places, strict=True)
    ]


def _reduce_batch(
    network: VirtualNetwork, members: list[Rounds], draw: np.random.Generator, rounds: int
) -> None:
    vectors = draw.integers(-1000, 1000, (rounds, len(members), _VALUES)).astype(np.float32)
    expected = vectors.sum(axis=1)
    started = [each.start(vectors[turn, n]) for n, each in enumerate(members) for turn in range(rounds)]
    network.run(network.time + _LONGEST, lambda: all(each.done or each.failure for each in started))
    for each in started:
        if each.failure is not None:
            raise each.failure
    if not all(each.done for each in started):
        raise OlafError(Problem(f"a round does not end in {_LONGEST:g} s of virtual time"))
    if not (vectors == expected[:, np.newaxis]).all():
        raise OlafError(Problem("a sum is not that of one contribution of each member"))


def sum_numbered(results: int, levels: int, chance: float, seed: int, progress: Progress) -> NumberedFigures:
    """Train until ``results`` sums of H contributions are applied; each datagram is lost, doubled and
    overtaken with ``chance``.

    Raises OlafError when a result is not the exact sum of H contributions that no other has, or members end
    with other results.
    """
    plan = _make_plan(results, chance, seed, levels)
    bed = make_testbed(plan, "unix")
    tasks: list[Numbered] = []

    def task(plan: ReplicaPlan, member: int, life: int) -> MemberTask:
        tasks.append(Numbered(plan, member, bed.clusters[0].segments))
        return tasks[-1]

    with using_hosts(bed, progress, False) as (_, running, _), closing(running.virtual_time()) as engine:
        outcome = run_virtual(engine, bed, plan, task)
        if not outcome.equal:
            raise OlafError(*outcome.problems, "the members' results differ")
        return NumberedFigures(
            contributions=outcome.total_of("commits"),
            sent=sum(end.sent for end in outcome.ends),
            lost=sum(end.lost for end in outcome.ends),
            doubled=sum(end.doubled for end in outcome.ends),
            results=results,
            taken=max(len(each.taken) for each in tasks),
            helped=outcome.total_of("helped"),
            void=max(end.counters["voids"] for end in outcome.ends),
            counters=_read_counters(running, "dropped_"),
        )


class Numbered(MemberTask):
    """A member whose contributions are numbered by their values, and a model that takes every sum apart."""

    def __init__(self, plan: ReplicaPlan, member: int, segments: int) -> None:
        self.first = np.zeros(plan.values, np.float32)
        self.trained = self
        self.taken: set[tuple[int, int, int]] = set()
        """(segment, member, number) of each contribution in a result."""
        self._plan, self._member, self._number = plan, member, 0
        self._slices = [Segments(plan.values, segments).slice(each) for each in range(segments)]
        self._newest = np.zeros((segments, plan.members), np.int32)
        self._total = self.first.copy()

    def gradient(self, weights: Vector) -> Vector:
        """Return the next contribution (values,): one block a segment."""
        found, number = self.first.copy(), self._number
        for segment, place in enumerate(self._slices):
            block = found[place]
            block[:_CHECKS] = self._draw_checks(segment, self._member, number)
            block[_CHECKS + self._member * _PLACES + number % _PLACES] = 1
        self._number += 1
        return found

    def _draw_checks(self, segment: int, member: int, number: int) -> list[int]:
        """Draw numbers of few enough bits that sums of them are exact."""
        key = f"{self._plan.seed} {segment} {member} {number}"
        drawn = random.Random(key).getrandbits(16 * _CHECKS)
        return [drawn >> 16 * place & 0xFFFF for place in range(_CHECKS)]

    @property
    def manifest(self) -> list[str]:
        return [f"{len(self.first)} values of numbered contributions"]

    @property
    def weights(self) -> Vector:
        return self._total.copy()

    def step(self, mean: Vector) -> None:
        """Take a result apart. H is a power of two, so the sum is exact."""
        self._total += mean
        for segment, place in enumerate(self._slices):
            block = mean[place] * self._plan.h
            if block.any():
                self._take_apart(segment, block)

    def _take_apart(self, segment: int, block: Vector) -> None:
        where, places = f"segment {segment}", block[_CHECKS : _CHECKS + self._plan.members * _PLACES]
        if not np.isin(places, (0, 1)).all():
            raise OlafError(Problem("has a contribution twice", where))
        if places.sum() != self._plan.h:
            raise OlafError(Problem(f"is the sum of {places.sum():g} contributions", where))
        expected = np.zeros(_CHECKS)
        for found in np.flatnonzero(places):
            member, rest = divmod(int(found), _PLACES)
            lowest = int(self._newest[segment, member]) - _PLACES // 2
            number = lowest + (rest - lowest) % _PLACES
            if (segment, member, number) in self.taken:
                raise OlafError(Problem(f"has contribution {number} of member {member} again", where))
            self.taken.add((segment, member, number))
            self._newest[segment, member] = max(self._newest[segment, member], number)
            expected += self._draw_checks(segment, member, number)
        if not (expected == block[:_CHECKS]).all():
            raise OlafError(Problem("is not the exact sum of its contributions", where))

    def save(self) -> bytes:
        return self._total.tobytes() + self._newest.tobytes()

    def load(self, state: bytes) -> None:
        self._total = np.frombuffer(state, np.float32, len(self.first)).copy()
        newest = np.frombuffer(state, np.int32, offset=self._total.nbytes)
        self._newest = newest.reshape(self._newest.shape).copy()


def _read_counters(running: Running, *names: str) -> dict[str, int]:
    counted = of_root(running.queues).read_all()
    return {name: value for name, value in sorted(counted.items()) if value and name.startswith(names)}
