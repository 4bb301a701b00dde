"""Numbered sums over links that lose, double and reorder frames: exactly once, without gaps (iSwitch §4).

Members number their contributions and send each twice, for they do not learn which were taken. Every frame
on every link, from member to engine, from engine to engine and from engine to member, may be lost, doubled or
overtaken. The engines' queues are the Verilated ones. A contribution's values tell whose it is and which: so
every result is taken apart, and held against the exact sum of the contributions in it.
"""

import heapq
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.geometry import WINDOW, Geometry
from olafctl.wire.layouts import GRADIENT_OFFSET, Kind
from olafctl.wire.modes import Mode
from olafswitch.errors import OlafError, Problem
from olaftest.queue.golden.frames import field as header_field
from olaftest.queue.model import QueueModel, Sidecar
from olaftest.queue.traffic import update

GEOMETRY = Geometry(indices=16, slots=8, beats=24)
SEGMENTS = 4
_PLACES = 4 * WINDOW
"""Values for the numbers of one member, modulo this: half of them for what comes later than others, and half
for what is lost in a row."""
_CHECKS = 16
_MOST_MEMBERS = 4
_SENT_AGAIN = 5
"""Contributions of the same member and segment later."""
_LATEST = 600
"""A frame is under way for up to so many contributions of all members, mostly for far fewer."""
_AT_A_TIME = 32
_LIMIT = 1_000_000
"""Cycles after which a queue must be idle."""
_TRIES = 200
_WRAP = 1 << 32


@dataclass
class Figures:
    """What a run took."""

    contributions: int = 0
    sent: int = 0
    """Frames of members, the first ones and those sent again."""
    lost: int = 0
    """Of all frames on all links."""
    doubled: int = 0
    results: int = 0
    taken: int = 0
    """Contributions that are in a result."""
    helped: int = 0
    """Results that a member had from another."""
    void: int = 0
    """Results that reached no member."""
    counters: dict[str, int] = field(default_factory=dict)
    """Of all queues together: what was dropped."""


@dataclass
class _Engine:
    model: QueueModel
    to: Callable[[Sidecar, bytes], None]
    """Where its results go."""
    waiting: list[tuple[Sidecar, bytes]] = field(default_factory=list)

    def go(self) -> bool:
        """Take what has come, and send what is complete; whether anything was."""
        for sidecar, frame in self.waiting:
            self.model.offer(sidecar, frame)
        self.waiting.clear()
        if self.model.settle(_LIMIT) >= _LIMIT:
            raise OlafError(Problem("the queue does not become idle"))
        left = list(self.model.take())
        for departure in left:
            self.to(departure.sidecar, departure.frame)
        return bool(left)


class _Run:
    def __init__(self, models: list[QueueModel], members: int, chance: float, seed: int) -> None:
        self.members, self.chance, self.seed = members, chance, seed
        self.random = random.Random(seed)
        self.figures = Figures()
        self.root = _Engine(models[0], self._result)
        self.racks = [
            _Engine(model, partial(self._from_rack, number)) for number, model in enumerate(models[1:])
        ]
        self.wanted = members
        for engine in self.engines:
            below = members if engine is self.root else members // len(self.racks)
            settings = IndexSettings(Mode.ISWITCH_ASYNC, threshold=below)
            engine.model.registers.configure(0, SEGMENTS - 1, settings)
        self.now = 0
        self._order = itertools.count()
        self._under_way: list[tuple[float, int, Callable[[], object]]] = []
        # Some begin where numbers soon wrap.
        self.first = {
            (member, segment): (0, _WRAP - 500, (_WRAP >> 1) - 500)[(member + segment) % 3]
            for member in range(members)
            for segment in range(SEGMENTS)
        }
        self.next = dict(self.first)
        self.newest = dict(self.first)
        self.known: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.made: dict[int, list[bytes]] = defaultdict(list)
        """By segment: the results as they left the root, in order."""
        self.had: list[dict[tuple[int, int], bytes]] = [{} for _ in range(members)]
        """By member: the results that it has, by segment and number."""
        self.forced = False

    @property
    def engines(self) -> list[_Engine]:
        """Each before its parent."""
        return [*self.racks, self.root]

    def go(self, contributions: int) -> Figures:
        for self.now in range(contributions):
            member, segment = self.random.randrange(self.members), self.random.randrange(SEGMENTS)
            self._contribute(member, segment)
            if self.now % _AT_A_TIME == 0:
                self._arrive(self.now)
        self._arrive(float("inf"))
        self.forced = True
        for engine in self.engines:
            engine.model.registers.command(Command.FBCAST, 0, SEGMENTS - 1)
            self._arrive(float("inf"))
        self._help()
        self.figures.taken = sum(map(len, self.known.values()))
        total = Counter[str]()
        for engine in self.engines:
            total.update(engine.model.registers.read_all())
        self.figures.counters = {
            name: total[name] for name in sorted(total) if name.startswith("dropped_") and total[name]
        }
        return self.figures

    def _arrive(self, until: float) -> None:
        """Everything that is under way until then, and what follows from it."""
        while True:
            while self._under_way and self._under_way[0][0] <= until:
                heapq.heappop(self._under_way)[2]()
            if not any([engine.go() for engine in self.engines]) and (
                not self._under_way or self._under_way[0][0] > until
            ):
                return

    def _send(self, arrive: Callable[[], object], latest: int = _LATEST) -> None:
        """Over a link."""
        copies = 1
        if self.random.random() < self.chance:
            copies, self.figures.doubled = 2, self.figures.doubled + 1
        for _ in range(copies):
            if self.random.random() < self.chance:
                self.figures.lost += 1
                continue
            time = self.now + self.random.random() ** 6 * latest
            heapq.heappush(self._under_way, (time, next(self._order), arrive))

    # Members to engines

    def _contribute(self, member: int, segment: int) -> None:
        number = self.next[member, segment]
        self.next[member, segment] = (number + 1) % _WRAP
        self.figures.contributions += 1
        # Nothing begins before the first one.
        begun = (number - self.first[member, segment]) % _WRAP
        for one in (number, number - _SENT_AGAIN) if begun >= _SENT_AGAIN else (number,):
            self.figures.sent += 1
            sidecar, frame = self._frame(member, segment, one % _WRAP)
            engine = self.racks[member % len(self.racks)] if self.racks else self.root
            self._send(partial(engine.waiting.append, (sidecar, frame)))

    def _frame(self, member: int, segment: int, number: int) -> tuple[Sidecar, bytes]:
        values = np.zeros(_CHECKS + _MOST_MEMBERS * _PLACES, "<f4")
        values[:_CHECKS] = self._checks(member, segment, number)
        values[_CHECKS + member * _PLACES + number % _PLACES] = 1
        return update(
            segment,
            member + 1,
            values.tobytes(),
            seq=number,
            member=member,
            segment=segment,
            gen_time=self.now,
        )

    def _checks(self, member: int, segment: int, number: int) -> list[int]:
        """Of few enough bits that sums of them are exact."""
        drawn = random.Random(f"{self.seed} {member} {segment} {number}").getrandbits(16 * _CHECKS)
        return [drawn >> 16 * place & 0xFFFF for place in range(_CHECKS)]

    def _from_rack(self, rack: int, sidecar: Sidecar, frame: bytes) -> None:
        changed = Sidecar(sidecar.size, kind=Kind.UPDATE, index=sidecar.index, member=rack, worker=100 + rack)
        self._send(partial(self.root.waiting.append, (changed, frame)), _LATEST // 8)

    # Results

    def _result(self, sidecar: Sidecar, frame: bytes) -> None:
        segment, number = sidecar.index, header_field(frame, "seq")
        self._check(segment, number, frame)
        self.made[segment].append(frame)
        self.figures.results += 1
        for had in self.had:
            self._send(partial(had.setdefault, (segment, number), frame))

    def _check(self, segment: int, number: int, frame: bytes) -> None:
        """Raises OlafError unless it is the next, and the exact sum of H contributions that no other has."""
        where = f"result {number} of segment {segment}"
        if number != len(self.made[segment]) + 1:
            raise OlafError(Problem(f"comes after result {len(self.made[segment])}", where))
        values = np.frombuffer(frame[GRADIENT_OFFSET:], "<f4")
        places = values[_CHECKS:]
        if not np.isin(places, (0, 1)).all():
            raise OlafError(Problem("has a contribution twice", where))
        count = int(places.sum())
        if header_field(frame, "count") != count or (count != self.wanted and not self.forced):
            raise OlafError(Problem(f"is the sum of {count} contributions", where))
        taken = [self._identify(*divmod(int(place), _PLACES), segment) for place in np.flatnonzero(places)]
        expected = np.zeros(_CHECKS)
        for member, one in taken:
            expected += self._checks(member, segment, one)
            if one in self.known[member, segment]:
                raise OlafError(Problem(f"has contribution {one} of member {member} again", where))
            self.known[member, segment].add(one)
            if (one - self.newest[member, segment]) % _WRAP < _WRAP >> 1:
                self.newest[member, segment] = one
        if not (expected == values[:_CHECKS]).all():
            raise OlafError(Problem("is not the exact sum of its contributions", where))

    def _identify(self, member: int, rest: int, segment: int) -> tuple[int, int]:
        """The member and its contribution that one value of a result shows, by what was taken before."""
        lowest = self.newest[member, segment] - _PLACES // 2
        return member, (lowest + (rest - lowest) % _PLACES) % _WRAP

    def _help(self) -> None:
        """Each member asks the others for the results that it lacks, over links like the others."""
        for segment, made in self.made.items():
            for number, frame in enumerate(made, 1):
                having = [had for had in self.had if (segment, number) in had]
                if not having:
                    self.figures.void += 1
                    continue
                for had in self.had:
                    tries = 0
                    while (segment, number) not in had:
                        tries += 1
                        if tries > _TRIES:
                            raise OlafError(Problem("is never answered", f"Help for result {number}"))
                        if self.random.random() > self.chance and self.random.random() > self.chance:
                            had[segment, number] = self.random.choice(having)[segment, number]
                            self.figures.helped += 1
                if {had[segment, number] for had in self.had} != {frame}:
                    raise OlafError(Problem("differs between members", f"result {number}"))


def run(library: Path, members: int, racks: int, contributions: int, chance: float, seed: int) -> Figures:
    """``contributions`` of ``members``, who are at one engine or, with ``racks``, at engines below it; H is
    their number. ``chance`` is that of a frame to be lost on a link, and that to be doubled.

    Raises OlafError when a result is not the exact sum of H distinct contributions, numbers have a gap, or
    members have different results.
    """
    if not 1 <= members <= _MOST_MEMBERS or (racks and members % racks):
        raise ValueError(f"{members} members, at {racks} engines")
    models = [QueueModel(library) for _ in range(1 + racks)]
    try:
        return _Run(models, members, chance, seed).go(contributions)
    finally:
        for model in models:
            model.close()
