"""One deployment's membership: every change is one step over the store and all devices, or none at all.

A single thread makes all changes, in batches of what waits:

1. each operation is checked against the membership as the ones before it leave it;
2. the whole change is written down as an intent, durable before the first device is touched;
3. the devices are taken from the old tables to the new ones, in an order in which no frame is lost;
4. the rows are stored and the intent removed as one durable step; then the callers are answered.

Whatever interrupts this, the stored rows are the truth: the membership is loaded from them, the devices are
made equal to them, and only then the intent is forgotten. An answered change is therefore never lost, and
one that was not answered is there wholly or not at all.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import groupby
from typing import TypeVar

from olafctl.daemon.leadership import Alone, Leadership, NotLeader
from olafctl.daemon.resting import Resting
from olafctl.daemon.site import Site
from olafctl.daemon.southbound import Southbound
from olafctl.errors import OlafError, Problem
from olafctl.membership.membership import Change, Membership, affected, parsed, rows
from olafctl.membership.merge import fits
from olafctl.membership.model import Cluster, Row
from olafctl.membership.operations import Operation, Outdated, Planned
from olafctl.membership.store import Event, MembershipStore
from olafctl.p4runtime.failures import WriteFailed
from olafctl.testbed.ground import ground

_log = logging.getLogger(__name__)
_BATCH = 64
_WAITING = 4096
CHECK_SECONDS = 30.0
"""From the end of a check to the next one."""
_CHECK_POLL = 0.1
"""How soon what a check found is repaired."""
_RETRY_SECONDS = 1.0
_Found = TypeVar("_Found")


class Busy(OlafError):
    """Too many changes wait already; nothing was changed."""


class Unavailable(OlafError):
    """The deployment's devices do not answer; nothing was changed."""


@dataclass
class _Request:
    operation: Operation
    answer: "Future[Row]" = field(default_factory=Future)


@dataclass(frozen=True)
class Status:
    """A deployment as it is."""

    name: str
    revision: int
    ready: bool
    """Whether the devices answer and are equal to the membership."""
    problem: str
    """The reason when they do not or are not; empty otherwise, and while it follows."""
    term: int
    """Higher for each later leader; 0: this controller follows."""
    leader: str
    """The API address of the leader among several controllers; empty when it is not known or alone."""
    clusters: list[Row]
    members: list[Row]


class Controller:
    """See the module."""

    def __init__(
        self,
        site: Site,
        store: MembershipStore,
        leadership: Leadership | None = None,
        *,
        check_every: float = CHECK_SECONDS,
    ) -> None:
        """Load the membership; the first time it is the testbed's. Raises OlafError, also for one that was
        begun and is gone.

        The devices are read and compared ``check_every`` seconds after the last time. Without ``leadership``
        there is no other controller.
        """
        self.name = site.testbed.name
        self._leadership = leadership or Alone()
        self.term = self._leadership.term
        """The term in which this controller acts."""
        self.southbound = Southbound(site, self._leadership)
        self._site = site
        self._store = store
        self._check_every = check_every
        self._requests: queue.Queue[_Request | None] = queue.Queue(_WAITING)
        self._changed = threading.Condition()
        self._problem = "not reached yet"
        self._next_check = 0.0
        self._ended = False
        self._loaded = False
        self._damage = ""
        """What the last inspection of the store found."""
        self._inspecting = threading.Lock()
        self._revision = 0
        self._load()
        self._thread = threading.Thread(target=self._run, name=f"controller {self.name}", daemon=True)

    def start(self) -> None:
        """Connect to the devices and begin to make changes."""
        self._thread.start()

    def close(self) -> None:
        """Finish the current batch, refuse waiting changes, and leave the devices unchanged."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._requests.put(None)
        self._thread.join()
        self.southbound.close()
        self._site.close()
        self._leadership.close()
        self._store.close()

    def submit(self, operation: Operation) -> "Future[Row]":
        """Queue an operation; the future gets its answer or its error.

        Raises Busy, and Unavailable once closed.
        """
        if self._ended:
            raise Unavailable(Problem("nothing was changed: the daemon let it go", self.name))
        request = _Request(operation)
        if not self._leadership.term:
            request.answer.set_exception(NotLeader(self._leadership.leader, self._leadership.trouble))
            return request.answer
        try:
            self._requests.put_nowait(request)
        except queue.Full:
            what = f"{_WAITING} changes wait already"
            raise Busy(Problem(what, self.name, "try again in a moment")) from None
        return request.answer

    @property
    def waiting(self) -> int:
        """Changes that wait for their turn."""
        return self._requests.qsize()

    def status(self, summary: bool = False) -> Status:
        """The membership as it is, without secrets; of a ``summary`` no clusters and members."""
        with self._changed:
            clusters = () if summary else self._clusters.values()
            members = () if summary else self._members.values()
            return Status(
                self.name,
                self._revision,
                self._ready and not self._damage,
                self._damage or ("" if self._ready else self._problem),
                self.term,
                self._leadership.leader,
                [cluster.shown() for cluster in clusters],
                [member.to_row() for member in members],
            )

    @property
    def _ready(self) -> bool:
        """Whether the devices are known to hold what is stored."""
        return self._loaded and self.southbound.ready

    def look(self, question: Callable[[Membership], _Found]) -> _Found:
        """The result of ``question`` about the membership, which does not change in the meantime."""
        with self._changed:
            return question(self.membership)

    def watch(self, since: int, alive: Callable[[], bool], patience: float = 1.0) -> Iterator[list[Event]]:
        """Every change after revision ``since``, as it comes, while ``alive``, which is asked at least every
        ``patience`` seconds.

        Raises Compacted when the history does not reach back so far.
        """
        while alive() and not self._ended:
            events = self._store.history(since)
            if events:
                since = events[-1].revision
                yield events
            else:
                self._await_revision_after(since, patience)

    def _await_revision_after(self, since: int, patience: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._revision > since or self._ended, patience)

    # The thread

    def _run(self) -> None:
        while True:
            with self._surviving():
                self._take_role()
                self._keep()
            batch, ends = self._waiting()
            with self._surviving():
                self._carry_out(batch)
            for request in batch:
                if not request.answer.done():
                    what = "a defect of the daemon; whether it was changed is not known"
                    request.answer.set_exception(
                        Unavailable(Problem(what, self.name, "see the daemon's log"))
                    )
            if ends:
                return

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """After a defect this thread goes on: it reads everything again, as after a restart."""
        try:
            yield
        except Exception:
            _log.exception("%s: a defect; stored rows and devices are read again", self.name)
            self._problem = "a defect of the daemon: see its log"
            self._loaded = False
            self.southbound.close()

    def _keep(self) -> None:
        """Do the work between changes: follow the leader, or keep the devices equal to the membership."""
        if not self.term:
            self._follow()
        elif not self._ready:
            self._equalise()
        elif self.southbound.settling and not self._settled():
            pass
        elif self.southbound.checking:
            self._finish_check()
        elif time.monotonic() >= self._next_check:
            self._begin_check()

    def _take_role(self) -> None:
        """Lead or follow, as the leadership now says."""
        term = self._leadership.term
        if term == self.term:
            return
        if self.term:
            # Others may change the deployment from now on.
            self.southbound.close()
            self._site.close()
        self.term = term
        self._loaded = False
        self._next_check = 0.0

    def _follow(self) -> None:
        """Keep up with the changes that the leader stores."""
        try:
            if not self._loaded:
                self._load()
            for revision, events in groupby(self._store.history(self._revision), lambda each: each.revision):
                change = parsed({event.key: event.row for event in events})
                with self._changed:
                    # Only the leader knows which indices rest.
                    for each in sorted(self.membership.resting):
                        self.membership.rested(each)
                    self.membership.apply(change)
                    self._stored(revision)
            self._problem = self._leadership.trouble
        except OlafError as error:
            # A history that no longer reaches back to what is known here begins with all rows.
            self._loaded = False
            self._note(error)

    def _waiting(self) -> tuple[list[_Request], bool]:
        """The requests that wait now, after waiting for the first one or for the next check."""
        patience = self._next_check - time.monotonic() if self._ready else _RETRY_SECONDS
        patience = min(patience, self._leadership.patience)
        if self.southbound.checking or self.southbound.settling:
            patience = min(_CHECK_POLL, self._leadership.patience)
        batch: list[_Request] = []
        try:
            request = self._requests.get(timeout=max(patience, 0.001))
            while request is not None:
                batch.append(request)
                if len(batch) == _BATCH:
                    return batch, False
                request = self._requests.get_nowait()
            return batch, True
        except queue.Empty:
            return batch, False

    def _equalise(self) -> bool:
        """Make the devices equal to the membership; True when they are."""
        self._next_check = time.monotonic() + self._check_every
        try:
            self._leadership.check()
            if not self._loaded:
                self._load()
            self.southbound.reconcile(tuple(self.membership.snapshot()))
            self._free_indices()
            if self._store.intent() is not None:
                _log.warning("%s: undid a change that was interrupted", self.name)
                self._store.abandon()
        except OlafError as error:
            self._note(error)
            return False
        self._problem = ""
        return True

    def _settled(self) -> bool:
        """Let all engines know the members that have settled; False when a device failed."""
        try:
            self.southbound.settle(self._cluster_at)
        except OlafError as error:
            self._note(error)
            return False
        return True

    def _cluster_at(self, address: IPv4Address) -> Cluster | None:
        """The cluster of the member with this address."""
        member = self.membership.at(address)
        return None if member is None else self.membership.clusters[member.cluster]

    def _begin_check(self) -> None:
        """Start a comparison of the devices with the membership, and a check of the store; changes go on."""
        self._inspect()
        self.southbound.begin_check(self.membership.snapshot())
        self._free_indices()

    def _inspect(self) -> None:
        """Have the whole store read, by a thread of its own: a page that is damaged is not to be found by the
        change that needs it."""

        def inspect() -> None:
            with self._inspecting:
                try:
                    self._store.check()
                    found = ""
                except OlafError as error:
                    found = str(error)
                if found and found != self._damage and not self._ended:
                    _log.error("%s: %s", self.name, found)
                self._damage = found

        if not self._inspecting.locked():
            threading.Thread(target=inspect, name=f"store {self.name}", daemon=True).start()

    def _finish_check(self) -> None:
        """Repair what a check found, if it is over."""
        try:
            self.southbound.finish_check()
        except OlafError as error:
            self._note(error)
        self._next_check = time.monotonic() + self._check_every

    def _note(self, error: OlafError) -> None:
        if str(error) != self._problem:
            _log.warning("%s: %s", self.name, error)
        self._problem = str(error)

    def _carry_out(self, batch: Sequence[_Request]) -> None:
        if not batch:
            return
        if not self._leadership.term:
            self._refuse(batch, NotLeader(self._leadership.leader, self._leadership.trouble))
            return
        if not self._ready and not self._equalise():
            self._refuse(batch, Unavailable(Problem(f"nothing was changed: {self._problem}", self.name)))
            return
        self._free_indices()
        before: dict[str, tuple[Cluster, ...]] = {}
        change: Change = {}
        planned: list[tuple[_Request, Planned]] = []
        refused: list[tuple[_Request, Exception]] = []
        rest: Sequence[_Request] = ()
        with self._changed:
            for position, request in enumerate(batch, 1):
                try:
                    plan = request.operation(self.membership)
                except Exception as error:
                    if not isinstance(error, OlafError | Outdated):
                        _log.exception("%s: a defect; the change is refused", self.name)
                    refused.append((request, error))
                    continue
                for name in affected(self.membership, plan.change) - before.keys():
                    before[name] = self.membership.those([name])
                self.membership.apply(plan.change)
                change.update(plan.change)
                planned.append((request, plan))
                if any(key.startswith("cluster/") and new is None for key, new in plan.change.items()):
                    # Its indices are free once it is gone from the devices, not before.
                    rest = batch[position:]
                    break
            after, macs = self.membership.those(before), dict(self.membership.macs)
        try:
            self._make(change, [each for group in before.values() for each in group], after, macs, planned)
        except OlafError as error:
            self._loaded = False
            self._equalise()
            self._inspect()
            self._undone(planned, refused, error)
        else:
            for request, plan in planned:
                request.answer.set_result(plan.answer)
            # A refusal may follow from a change of this batch: it holds once that one is stored.
            for request, reason in refused:
                request.answer.set_exception(reason)
        if rest:
            self._carry_out(rest)

    def _free_indices(self) -> None:
        """Give back the indices of deleted clusters once none of their updates waits."""
        if not self.membership.resting:
            return
        try:
            queues = self.southbound.queue_registers()
        except OlafError as error:
            _log.warning("%s: the queue cannot be read: %s", self.name, error)
            return
        with self._changed:
            for each in self._resting.freed(sorted(self.membership.resting), queues):
                self.membership.rested(each)

    def _undone(
        self,
        planned: Sequence[tuple[_Request, Planned]],
        refused: Sequence[tuple[_Request, Exception]],
        error: OlafError,
    ) -> None:
        """Answer a batch of which nothing was done, and try again what was refused because of it."""
        requests = [request for request, _ in planned]
        if isinstance(error, WriteFailed) and len(requests) > 1:
            # A device refuses one of them: only that one fails.
            for request in requests:
                self._carry_out([request])
        else:
            self._refuse(requests, error)
        for request, _ in refused:
            self._carry_out([request])

    def _make(
        self,
        change: Change,
        before: Sequence[Cluster],
        after: Sequence[Cluster],
        macs: Mapping[str, int],
        planned: Sequence[tuple[_Request, Planned]],
    ) -> None:
        """Make one change of the store and the devices. Raises OlafError; then all of it must be undone."""
        if change:
            self._store.begin(rows(change))
            self.southbound.apply(before, after, macs)
        for _, plan in planned:
            for command, first, last in plan.commands:
                self.southbound.command(command, first, last)
        if change:
            revision = self._store.finish(rows(change))
            with self._changed:
                self._stored(revision)

    def _refuse(self, requests: Sequence[_Request], error: OlafError) -> None:
        for request in requests:
            request.answer.set_exception(error)

    # Loading

    def _load(self) -> None:
        revision, stored = self._store.rows()
        if self.term:
            if not revision:
                self._store.finish({**self._site.first(), "meta/testbed": {"name": self.name}})
                revision, stored = self._store.rows()
            self._site.kept(self._store.place)
        try:
            membership = Membership(self._site.testbed.indices, stored)
        except (KeyError, TypeError, ValueError) as error:
            what = f"the stored membership cannot be used: {error}"
            raise OlafError(Problem(what, self.name, "restore a backup: olafctl restore")) from None
        fits(membership, ground(self._site.testbed))
        with self._changed:
            self.membership = membership
            if self.term:
                # The store does not tell which updates wait in the queue.
                self.membership.rest()
            self._resting = Resting()
            self._stored(revision)
        self._loaded = True

    def _stored(self, revision: int) -> None:
        """The store has the membership as it is now, as this revision."""
        self._revision = revision
        self._clusters, self._members = dict(self.membership.clusters), dict(self.membership.members)
        self._changed.notify_all()
