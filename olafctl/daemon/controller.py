"""One deployment's membership: every change is one step over the store and all devices, or none at all.

A single thread makes all changes, in batches of the operations that wait:

1. each operation is checked against the membership as the operations before it leave it;
2. the whole change is written down as an intent, durable before the first device is touched;
3. the devices are taken from the old tables to the new ones, in an order in which no frame is lost;
4. the rows are stored and the intent removed as one durable step; then the callers are answered.

Whatever interrupts this, the stored rows are the truth: the membership is loaded from them, the devices are
made equal to them, and only then the intent is forgotten. An answered change is therefore never lost, and
a change that was not answered is there wholly or not at all.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from olafctl.daemon.leadership import Alone, Leadership, NotLeader
from olafctl.daemon.loaded import Status, Stored
from olafctl.daemon.site import Site
from olafctl.daemon.southbound import Southbound
from olafctl.membership.interface import Event, MembershipStore
from olafctl.membership.membership import Change, Membership, find_affected
from olafctl.membership.model import Cluster, Row
from olafctl.membership.operations import Operation, Outdated, Planned
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.failures import WriteFailed

_log = logging.getLogger(__name__)
_BATCH = 64
_WAITING = 4096
CHECK_SECONDS = 30.0
"""The seconds from the end of a check to the next one."""
_CHECK_POLL = 0.1
"""The seconds after which the findings of a check are repaired."""
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


class Controller:
    """The membership of one deployment, see the module."""

    def __init__(
        self,
        site: Site,
        store: MembershipStore,
        leadership: Leadership | None = None,
        *,
        check_every: float = CHECK_SECONDS,
    ) -> None:
        """Load the membership; the first time it is the testbed's.

        The devices are read and compared ``check_every`` seconds after the last time. Without ``leadership``
        there is no other controller. Raises OlafError, also for a membership that was begun and is gone.
        """
        self.name = site.testbed.name
        self._leadership = leadership or Alone()
        self.term = self._leadership.term
        """The term in which this controller acts."""
        self.southbound = Southbound(site, self._leadership)
        self._site = site
        self._stored = Stored(site, store)
        self._check_every = check_every
        self._requests: queue.Queue[_Request | None] = queue.Queue(_WAITING)
        self._problem = "not reached yet"
        self._next_check = 0.0
        self._apart: Sequence[str] = ()
        """The sections in which the leader's testbed differs."""
        self._stood_back = False
        self._stored.load_rows(leads=bool(self.term))
        self._thread = threading.Thread(target=self._run_thread, name=f"controller {self.name}", daemon=True)

    def start(self) -> None:
        """Connect to the devices and begin to make changes."""
        self._thread.start()

    def close(self) -> None:
        """Finish the current batch, refuse waiting changes, and leave the devices unchanged."""
        self._stored.end_watches()
        self._requests.put(None)
        self._thread.join()
        self.southbound.close()
        self._site.close()
        self._leadership.close()
        self._stored.close()

    def submit(self, operation: Operation) -> "Future[Row]":
        """Queue an operation; the future gets its answer or its error.

        Raises Busy, and Unavailable once closed.
        """
        if self._stored.ended:
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
    def testbed(self) -> Testbed:
        """The testbed as it was deployed."""
        return self._site.testbed

    @property
    def place(self) -> str:
        """The place where the membership is stored."""
        return self._stored.place

    @property
    def waiting_changes(self) -> int:
        """The number of changes that wait for their turn."""
        return self._requests.qsize()

    def status(self, summary: bool = False) -> Status:
        """Return the membership without secrets; in a ``summary``, without clusters and members."""
        with self._stored.hold_lock() as stored:
            damage = stored.damage
            return Status(
                self.name,
                stored.revision,
                self._is_ready and not damage,
                damage or ("" if self._is_ready else self._problem),
                self.term,
                self._leadership.leader,
                [] if summary else [cluster.shown() for cluster in stored.clusters.values()],
                [] if summary else [member.to_row() for member in stored.members.values()],
            )

    @property
    def _is_ready(self) -> bool:
        """Whether the devices are known to have the stored state."""
        return self._stored.loaded and self.southbound.ready

    def backup(self) -> str:
        """Return a backup, as :meth:`Stored.backup` does."""
        return self._stored.backup()

    def look(self, question: Callable[[Membership], _Found]) -> _Found:
        """Return the result of ``question`` about the membership, which does not change in the meantime."""
        with self._stored.hold_lock() as stored:
            return question(stored.membership)

    def watch(self, since: int, alive: Callable[[], bool], patience: float = 1.0) -> Iterator[list[Event]]:
        """Yield changes, as :meth:`Stored.watch` does."""
        return self._stored.watch(since, alive, patience)

    # The thread

    def _run_thread(self) -> None:
        while True:
            with self._survive_defects():
                self._take_role()
                self._work_between_changes()
            batch, ends = self._take_waiting()
            with self._survive_defects():
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
    def _survive_defects(self) -> Iterator[None]:
        """Keep this thread alive after a defect: it reads everything again, as after a restart."""
        try:
            yield
        except Exception:
            _log.exception("%s: a defect; stored rows and devices are read again", self.name)
            self._problem = "a defect of the daemon: see its log"
            self._stored.loaded = False
            self.southbound.close()

    def _work_between_changes(self) -> None:
        """Do the work between changes: follow the leader, or keep the devices equal to the membership."""
        if not self.term:
            self._follow_leader()
        elif not self._is_ready:
            self._equalise_devices()
        elif self.southbound.has_unsettled and not self._settle_members():
            pass
        elif self.southbound.is_checking:
            self._finish_check()
        elif time.monotonic() >= self._next_check:
            self._begin_check()

    def _take_role(self) -> None:
        """Lead or follow, as the leadership now says."""
        term = self._leadership.term
        if term == self.term:
            return
        if term and self._apart:
            self._leadership.close()  # for good: it would make the engines those of its own testbed
            self._stood_back = True
            return
        if self.term:
            # Others may change the deployment from now on.
            self.southbound.close()
            self._site.close()
        self.term = term
        self._stored.loaded = False
        self._next_check = 0.0

    def _follow_leader(self) -> None:
        """Keep up with the changes that the leader stores."""
        try:
            if not self._stored.loaded:
                self._stored.load_rows(leads=bool(self.term))
            self._stored.follow_history()
            if self._leadership.leader and not self._stood_back:
                self._apart = self._stored.differing_sections
            if self._apart:
                what = f"its testbed is another one than the leader's, in {', '.join(self._apart)}"
                remedy = "it does not lead: give all controllers the same file, and start this one again"
                self._note_problem(OlafError(Problem(what, self.name, remedy)))
            else:
                self._problem = self._leadership.trouble
        except OlafError as error:
            # A history that does not reach back to the known revision begins with all rows.
            self._stored.loaded = False
            self._note_problem(error)

    def _take_waiting(self) -> tuple[list[_Request], bool]:
        """Return the requests that wait now, after waiting for the first one or for the next check."""
        patience = self._next_check - time.monotonic() if self._is_ready else _RETRY_SECONDS
        patience = min(patience, self._leadership.patience)
        if self.southbound.is_checking or self.southbound.has_unsettled:
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

    def _equalise_devices(self) -> bool:
        """Make the devices equal to the membership; return True when they are."""
        self._next_check = time.monotonic() + self._check_every
        try:
            self._leadership.check()
            if not self._stored.loaded:
                self._stored.load_rows(leads=bool(self.term))
            self.southbound.reconcile(tuple(self._stored.membership.snapshot()))
            self._free_indices()
            self._stored.abandon_change()
        except OlafError as error:
            self._note_problem(error)
            return False
        self._problem = ""
        return True

    def _settle_members(self) -> bool:
        """Make the settled members known to all engines; return False when a device failed."""
        try:
            self.southbound.settle_workers(self._stored.cluster_at)
        except OlafError as error:
            self._note_problem(error)
            return False
        return True

    def _begin_check(self) -> None:
        """Start a comparison of the devices with the membership, and a check of the store; changes go on."""
        self._stored.inspect_store()
        self.southbound.begin_check(self._stored.membership.snapshot())
        self._free_indices()

    def _finish_check(self) -> None:
        """Repair the findings of a check, if it is over."""
        try:
            self.southbound.finish_check()
        except OlafError as error:
            self._note_problem(error)
        self._next_check = time.monotonic() + self._check_every

    def _note_problem(self, error: OlafError) -> None:
        if str(error) != self._problem:
            _log.warning("%s: %s", self.name, error)
        self._problem = str(error)

    def _carry_out(self, batch: Sequence[_Request]) -> None:
        if not batch:
            return
        self._take_role()  # it may lead only since it waited for this batch
        if not self._leadership.term:
            self._refuse_requests(batch, NotLeader(self._leadership.leader, self._leadership.trouble))
            return
        if not self._is_ready and not self._equalise_devices():
            self._refuse_requests(
                batch, Unavailable(Problem(f"nothing was changed: {self._problem}", self.name))
            )
            return
        self._free_indices()
        before: dict[str, tuple[Cluster, ...]] = {}
        change: Change = {}
        planned: list[tuple[_Request, Planned]] = []
        refused: list[tuple[_Request, Exception]] = []
        rest: Sequence[_Request] = ()
        with self._stored.hold_lock() as stored:
            membership = stored.membership
            for position, request in enumerate(batch, 1):
                try:
                    plan = request.operation(membership)
                except Exception as error:
                    if not isinstance(error, OlafError | Outdated):
                        _log.exception("%s: a defect; the change is refused", self.name)
                    refused.append((request, error))
                    continue
                for name in find_affected(membership, plan.change) - before.keys():
                    before[name] = membership.clusters_named([name])
                membership.apply(plan.change)
                change.update(plan.change)
                planned.append((request, plan))
                if any(key.startswith("cluster/") and new is None for key, new in plan.change.items()):
                    # Its indices are free once it is gone from the devices, not before.
                    rest = batch[position:]
                    break
            after, macs = membership.clusters_named(before), dict(membership.macs)
        try:
            self._make_change(
                change, [each for group in before.values() for each in group], after, macs, planned
            )
        except OlafError as error:
            self._stored.loaded = False
            self._equalise_devices()
            self._stored.inspect_store()
            self._retry_undone(planned, refused, error)
        else:
            for request, plan in planned:
                request.answer.set_result(plan.answer)
            # A refusal may follow from a change of this batch: it holds once that change is stored.
            for request, reason in refused:
                request.answer.set_exception(reason)
        if rest:
            self._carry_out(rest)

    def _free_indices(self) -> None:
        """Give back the indices of deleted clusters once none of their updates waits."""
        if not self._stored.membership.draining:
            return
        try:
            self._stored.free_indices(self.southbound.queue_registers())
        except OlafError as error:
            _log.warning("%s: the queue cannot be read: %s", self.name, error)

    def _retry_undone(
        self,
        planned: Sequence[tuple[_Request, Planned]],
        refused: Sequence[tuple[_Request, Exception]],
        error: OlafError,
    ) -> None:
        """Answer a batch of which nothing was done, and retry the requests that it made refused."""
        requests = [request for request, _ in planned]
        if isinstance(error, WriteFailed) and len(requests) > 1:
            # A device refuses one of them: only that request fails.
            for request in requests:
                self._carry_out([request])
        else:
            self._refuse_requests(requests, error)
        for request, _ in refused:
            self._carry_out([request])

    def _make_change(
        self,
        change: Change,
        before: Sequence[Cluster],
        after: Sequence[Cluster],
        macs: Mapping[str, int],
        planned: Sequence[tuple[_Request, Planned]],
    ) -> None:
        """Make one change of the store and the devices. Raises OlafError; then all of it must be undone."""
        if change:
            self._stored.begin_change(change)
            self.southbound.apply_change(before, after, macs)
        for _, plan in planned:
            for command, first, last in plan.commands:
                self.southbound.send_command(command, first, last)
        if change:
            self._stored.finish_change(change)

    def _refuse_requests(self, requests: Sequence[_Request], error: OlafError) -> None:
        for request in requests:
            request.answer.set_exception(error)
