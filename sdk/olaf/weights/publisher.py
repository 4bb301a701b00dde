"""The publisher: each version of a model to all players, as what changed, once over each link.

``publish`` copies the bits and returns. What changed is found, encoded and sent behind it; while an issue
is on its way, newer versions supersede each other, and the next issue leads from what was sent to the
newest.
"""

from __future__ import annotations

import logging
import queue
import threading
from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable

import numpy as np

from olaf.transport import wire
from olaf.transport.address import parse
from olaf.transport.membership import is_control
from olaf.transport.port import Address, Port, Run
from olaf.weights import issues, streams
from olaf.weights.choice import WayDown
from olaf.weights.codecs import Digest
from olaf.weights.history import History
from olaf.weights.issues import Issue, Parts, Stamp
from olaf.weights.models import Source, model_of
from olaf.weights.place import (
    Ranges,
    control_of,
    next_line,
    open_publisher,
    place_of,
    require_arguments,
    unpack_want,
)
from olaf.weights.players import Players
from olaf.weights.sending import Lane, Sender, SentVersion
from olaf.weights.tensors import State

_LOG = logging.getLogger("olaf")
_GATHER = 0.02
"""Seconds in which players' wants are gathered, so that what several miss is sent once."""
_AGAIN, _SOON = 0.25, 0.05
"""Seconds between two manifests while nothing else is sent, and until one names a newer version."""
_LOOK = 1.0
"""Seconds between two looks at who is silent."""
_NOBODY = 10.0
"""Seconds after the first version in which a player should be heard."""
_REPORT, _LEAST_REPORT = 1.0, 0.1
"""Seconds between two reports about one player to the control plane, and between any two."""
_MOST_OF_ISSUE = 0.3
"""Share of an issue that a player may miss without being treated as slow."""
_MOST_SLOW = 256
"""Frames of one request of a slow player that are answered."""
_KEPT = 8
"""Issues whose frames are kept for repairs, as far as the older ones are not larger than the model."""


@dataclass
class PublisherCounters:
    """What a publisher did, and what it refused."""

    published: int = 0
    issued: int = 0
    """Versions that were sent; the others were superseded."""
    frames: int = 0
    bytes: int = 0
    """Bytes of these frames, without repairs."""
    wants: int = 0
    """Players' messages that requested frames."""
    caught_up: int = 0
    """Issues made for players that were behind."""
    refused: int = 0
    """Messages that were no player's, or had a wrong MAC."""


@dataclass
class _Requests:
    """What players want, until it is answered."""

    missing: dict[Issue, dict[Address, Ranges]]
    behind: dict[Address, int]
    """What players have that no kept issue leads on from."""
    due: float | None = None


class Publisher:
    """Publishes versions of one model to players: encodes what changed, sends it, repairs what is lost."""

    def __init__(
        self,
        where: str,
        model: Source,
        *,
        dtype: str | None = None,
        max_lag: int = 2,
        rate: float = 125e6,
        mtu: int | None = None,
        key: str | None = None,
        local: str | None = None,
        version: int = 0,
        epoch: int = 0,
        multicast: bool = True,
        whole: bool = False,
        port: Port | None = None,
    ) -> None:
        """Join as the cluster's publisher.

        ``where``: ``olaf://cluster@engine``, or any player's address where the testbed is fixed. ``model``:
        a torch module, a file of safetensors, or arrays by name. ``dtype``: what floating-point tensors
        travel as, such as ``bfloat16``. ``max_lag``: a player that is more versions behind does not slow
        the others. ``rate``: bytes a second at most. ``version``: the last one published before, of a
        publisher that comes back. ``epoch``: the testbed's, at a fixed address. ``whole``: send all of
        every version, to compare. ``multicast=False`` where no engine copies. Raises OlafError, OSError,
        OtherLayout, and ValueError for a bad argument.
        """
        require_arguments(max_lag=max_lag, epoch=epoch, version=version, rate=rate, mtu=mtu)
        self._model = model_of(model, dtype)
        self.counters = PublisherCounters()
        self.version = version
        """Version of the newest published weights."""
        self._idle = threading.Event()
        """Not set while ``publish`` copies: it would wait 5 ms for each tensor if another thread computed."""
        self._idle.set()
        self._closed = False
        if not self._model.leads:
            return
        destination = parse(where)
        own = port is None
        self._port: Port
        self._port, self._place = (
            open_publisher(destination, local, key, epoch)
            if port is None
            else (port, place_of(destination, key, wire.MemberRole.PARAMETER_SERVER, port, epoch))
        )
        host, number = self._port.reachable(control_of(destination))
        self.address = f"{host}:{number}"
        """As players reach it, where it did not join."""
        self.line = next_line(self._port.wall())
        """This publisher's run; no two are equal, and a version is known by its line and its number."""
        self._room = issues.payload_room(mtu or self._port.mtu(control_of(destination)))
        self._whole = whole
        self._history = History(self._model.layout, Digest(self._place.key))
        self._players = Players(max_lag)
        self._sender = Sender(self._port, self._players, rate, multicast)
        self._sender.newest = version
        self._issues: list[Issue] = []
        self._requests = _Requests({}, {})
        self._sent = 0
        """Version that was sent last."""
        self._manifest_due = self._soon_due = self._look_due = self._report_due = 0.0
        self._began: float | None = None
        """When the first version began to be sent; None before, and when a player was heard."""
        self._named_refusal = False
        self._reported = 0
        """Reports to the control plane."""
        self._pending: tuple[int, State, int] | None = None
        self._handing = threading.Lock()
        """Held for the moment in which a version is handed over, never while one is encoded."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="olaf", daemon=True) if own else None
        self._port.serve(self)
        if self._thread is not None:
            self._thread.start()

    def publish(self) -> int:
        """Publish the model's present weights; returns the version. Never waits.

        Raises OtherLayout, with the tensor's name, where the model has other tensors than at first, and
        RuntimeError after ``close``.
        """
        if self._closed:
            raise RuntimeError("this publisher is closed; make another Publisher")
        self._idle.clear()
        try:
            state = self._model.read()
        finally:
            self._idle.set()
        if not self._model.leads:
            self.version += 1
            return self.version
        with self._handing:
            self.version += 1
            self.counters.published += 1
            self._pending = self.version, state, self._port.wall() % 2**48
            version = self._sender.newest = self.version
        self._do(self._advance)
        return version

    @property
    def layout(self) -> str:
        """Names, types and shapes, as text for players that cannot read them off a model."""
        return self._model.layout.text

    @property
    def sent(self) -> SentVersion:
        """Frames and bytes that went out."""
        return self._sender.sent

    @property
    def players(self) -> list[dict[str, Any]]:
        """Each player's address, the versions that it has and plays, how far it is behind, the age of what it
        plays (s, or None), whether it is slow or dead, and whether it decodes zstd."""
        return [
            {"name": one.name, "have": one.have, "adopted": one.adopted, "lag": self._lag(one.have),
             "age": self._players.age(one, self._port.now()), "slow": one.slow, "dead": one.dead,
             "zstd": one.zstd}
            for one in list(self._players.all.values())
        ]  # fmt: skip

    def close(self) -> None:
        """End; what was published and not sent is lost."""
        closed, self._closed = self._closed, True
        if closed or not self._model.leads:
            return
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        self._port.close()
        self._history.close()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Party

    def receive(self, run: Run, source: Address) -> None:
        """Receive players' messages."""
        for datagram in run:
            if is_control(datagram) and datagram[0] == wire.WANT_ACTION:
                try:
                    want, ranges = unpack_want(datagram, self._place.key, source)
                except ValueError:
                    self.counters.refused += 1
                    self._name_refused(source)
                    continue
                self._hear(want, ranges, source)
            else:
                self._place.take(datagram)

    def tick(self) -> float | None:
        """Answer the requests that were gathered, and send what may be sent."""
        now = self._port.now()
        if self._requests.due is not None and now >= self._requests.due:
            self._answer()
        due = self._sender.tick(now)
        if self._sender.issue is not None and not self._sender.busy:
            self._sent = self._sender.issue.version
            if self._pending is not None:
                self._do(self._advance)
        if now >= self._manifest_due or (now >= self._soon_due and self._sender.outdated):
            self._manifest_due = now + _AGAIN
            self._sender.repeat_manifest()
        if now >= self._soon_due:
            self._soon_due = now + _SOON
        if now >= self._look_due:
            self._look_due = now + _LOOK
            self._players.look(self._sent, now)
            if self._began is not None and now > self._began + _NOBODY and not self._players.targets:
                self._began = None
                _LOG.warning(
                    "no player has been heard in %g s; start players with this publisher's address, %s, and "
                    "the same key",
                    _NOBODY,
                    self.address,
                )
        if now >= self._report_due:
            self._report_due = now + max(_REPORT / max(len(self._players.all), 1), _LEAST_REPORT)
            self._report(now)
        dues = (due, self._requests.due, self._soon_due, self._look_due, self._report_due)
        return min(time for time in dues if time is not None)

    def _name_refused(self, source: Address) -> None:
        """Say once that a player cannot be one."""
        if not self._named_refusal:
            self._named_refusal = True
            _LOG.warning(
                "a message of %s:%d has another MAC; give it and the publisher the same key, or none", *source
            )

    def _lag(self, version: int) -> int:
        return max(self.version - version, 0)

    def _report(self, now: float) -> None:
        """Report the next player in turn."""
        players = list(self._players.all.values())
        if players:
            one = players[self._reported % len(players)]
            self._reported += 1
            state = one.slow | one.dead << 1
            age = self._players.age(one, now)
            self._place.report(one.address, one.adopted, self._lag(one.adopted), age, state)

    def _hear(self, want: wire.Want, ranges: Ranges, source: Address) -> None:
        known = want.line == self.line
        player = self._players.take_message(source, want, self.line, self._port.now())
        if player is not None and not player.slow:
            self._sender.adapt_rate(want.got, want.lost)
        newest = self._sender.issue
        if newest is None:
            return
        if player is None or (not known and not want.count):  # it may have this version of an earlier run
            self._sender.queue_repair(newest, [newest.count - 1], source, Lane.URGENT)
            return
        if player.slow and self._sender.owes(source):
            return
        kept = self._kept(want.version, want.base)
        if known and kept is not None and want.count:
            self._requests.missing.setdefault(kept, {})[source] = ranges
            self._gather()
        elif want.count and player.have < newest.version and self._players.may_catch_up(player):
            self._requests.behind[source] = player.have
            self._gather()

    def _gather(self) -> None:
        self.counters.wants += 1
        if self._requests.due is None:
            self._requests.due = self._port.now() + _GATHER

    def _answer(self) -> None:
        """Send frames that several want to all players, others to one; make an issue for those behind."""
        requests, self._requests = self._requests, _Requests({}, {})
        for issue, wants in requests.missing.items():
            self._repair(issue, wants)
        if requests.behind:
            self._do(lambda: self._catch_up(requests.behind))

    def _repair(self, issue: Issue, wants: dict[Address, Ranges]) -> None:
        out = self._sender.frames_out(issue)
        missing = {}
        for source, ranges in wants.items():
            numbers = (n for first, count in ranges for n in range(first, min(first + count, out)))
            missing[source] = set(islice(numbers, _MOST_SLOW if self._players.all[source].slow else None))
        askers: dict[int, list[Address]] = {}
        for source, frames in missing.items():
            much = len(frames) > max(_MOST_OF_ISSUE * issue.count, 2)
            if self._players.all[source].slow or (much and issue.base):
                self._sender.queue_repair(issue, sorted(frames), source, Lane.SLOW)
                continue
            for number in frames:
                askers.setdefault(number, []).append(source)
        parities = self._parities(issue, askers) if self._sender.multicast else []
        lane = Lane.URGENT if issue.base else Lane.BEHIND
        if parities:
            self._sender.queue_repair(issue, parities, None, lane)
        shared = sorted(number for number, sources in askers.items() if len(sources) > 1)
        if shared:
            self._sender.queue_repair(issue, shared, None, lane)
        for source in missing:
            alone = sorted(number for number, sources in askers.items() if sources == [source])
            if alone:
                self._sender.queue_repair(issue, alone, source, lane)

    def _parities(self, issue: Issue, askers: dict[int, list[Address]]) -> list[int]:
        """List blocks of which players lack different frames: one parity repairs one frame of each player.

        What it repairs is taken out of ``askers``.
        """
        blocks: dict[int, dict[Address, list[int]]] = {}
        for number, sources in askers.items():
            if number < issue.count - 1:
                for source in sources:
                    lacks = blocks.setdefault(number // wire.PARITY_FRAMES, {})
                    lacks.setdefault(source, []).append(number)
        parities = []
        for block, lacks in blocks.items():
            rarest = {s: min(numbers, key=lambda n: len(askers[n])) for s, numbers in lacks.items()}
            if len(set(rarest.values())) < 2 or issue.parity(block, issue.version) is None:
                continue
            parities.append(-1 - block)
            for source, number in rarest.items():
                askers[number].remove(source)
        return parities

    # Encoding: on a thread of its own over sockets, at once in virtual time

    def _do(self, job: Callable[[], None]) -> None:
        if self._thread is None:
            with self._port.lock:
                job()
        else:
            self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception:  # no memory for a version, for example: the next one may be sent
                _LOG.exception("a version could not be sent")

    def _advance(self) -> None:
        """Make the newest version's issue, unless the last one is still being sent."""
        with self._port.lock:
            if self._sender.busy:
                return
        with self._handing:
            pending, self._pending = self._pending, None
        if pending is None:
            return
        version, state, when = pending
        base = self._history.version
        self._history.take_version(state, version)
        parts = (
            self._history.encode_delta(self._room, self._link())
            if base and not self._whole
            else self._history.encode_whole(self._room)
        )
        issue = self._issue(base, when, parts)
        with self._port.lock:
            self.counters.issued += 1
            self.counters.frames += issue.count
            self.counters.bytes += issue.total
            self._players.note_version(version, self._port.now())
            if self.counters.issued == 1:
                self._began = self._port.now()
            self._keep(issue)
            self._sender.start_issue(issue)
        self._port.wake()

    def _link(self) -> WayDown:
        with self._port.lock:
            players = self._players.alive
            copies = 1 if self._sender.multicast else max(len(players), 1)
            zstd = streams.HAS_ZSTD and all(player.zstd for player in players)
            return WayDown(copies / self._sender.rate, zstd, timed=self._thread is not None)

    def _catch_up(self, behind: dict[Address, int]) -> None:
        """Make one issue for all players that are behind, and send the whole to those too far behind."""
        history = self._history
        near = {source: have for source, have in behind.items() if have and have >= history.oldest}
        groups = ((near, min(near.values(), default=0)), ({s: 0 for s in behind if s not in near}, 0))
        for group, base in groups:
            if not group or base >= history.version or not history.version:
                continue
            issue = self._kept(history.version, base)
            if issue is not None and issue.streamed and not all(self._players.all[s].zstd for s in group):
                # What else leads from this base would be taken for that issue.
                base, issue = 0, self._kept(history.version, 0)
            if issue is None:
                parts = history.encode_since(base, self._room) if base else history.encode_whole(self._room)
                issue = self._issue(base, self._port.wall() % 2**48, parts)
            with self._port.lock:
                self.counters.caught_up += 1
                self._keep(issue)
                self._give(issue, list(group))
        self._port.wake()

    def _give(self, issue: Issue, sources: list[Address]) -> None:
        good = [source for source in sources if not self._players.all[source].slow]
        if len(good) > 1:
            self._sender.queue_repair(issue, np.arange(issue.count), None, Lane.BEHIND)
        elif good:
            self._sender.queue_repair(issue, np.arange(issue.count), good[0], Lane.BEHIND)
        for source in sources:
            if source not in good:
                self._sender.queue_repair(issue, np.arange(issue.count), source, Lane.SLOW)

    def _issue(self, base: int, when: int, parts: Parts) -> Issue:
        stamp = Stamp(self._place.epoch, 0, self.line, self._history.version, base, when)
        layout = self._model.layout
        return Issue(stamp, parts, self._history.digest, layout, self._place.key, self._between)

    def _between(self, parts: Parts) -> Parts:
        for part in parts:
            self._idle.wait()
            yield part

    def _kept(self, version: int, base: int) -> Issue | None:
        return next((one for one in self._issues if (one.version, one.base) == (version, base)), None)

    def _keep(self, issue: Issue) -> None:
        if issue in self._issues:
            return
        room, kept = self._model.layout.bytes, [issue]
        for older in reversed(self._issues[1 - _KEPT :]):
            room -= older.total
            if room < 0:
                break
            kept.insert(0, older)
        self._issues = kept
