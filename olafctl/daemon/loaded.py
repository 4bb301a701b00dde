"""One deployment's membership from its store: loaded, followed, watched and inspected.

``membership`` also has the changes that are in progress; ``clusters`` and ``members`` have what is stored.
One thread at a time may change it; any thread may read it inside :meth:`Stored.hold_lock`.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import groupby

import yaml

from olafctl.daemon.settling import Draining
from olafctl.daemon.site import Site
from olafctl.membership import backup
from olafctl.membership.interface import HERE, Event, MembershipStore
from olafctl.membership.membership import Change, Membership, make_rows, parse_row
from olafctl.membership.merge import check_fit
from olafctl.membership.model import Cluster, Row
from olafctl.testbed.ground import make_ground
from olafswitch import cache
from olafswitch.errors import OlafError, Problem

_log = logging.getLogger(__name__)
_TESTBED = "meta/testbed"
"""The row with the testbed's name; where several controllers share the store, with digests, too."""


@dataclass(frozen=True)
class Status:
    """The state of a deployment."""

    name: str
    revision: int
    ready: bool
    """Whether the devices answer and are equal to the membership."""
    problem: str
    """The reason when ``ready`` is False; empty otherwise, and while it follows."""
    term: int
    """The term, higher for each later leader; 0: this controller follows."""
    leader: str
    """The leader's API address, of several controllers; empty when it is not known or alone."""
    clusters: list[Row]
    members: list[Row]


class Stored:
    """The membership from its store, see the module."""

    membership: Membership

    def __init__(self, site: Site, store: MembershipStore) -> None:
        """Create it without a membership, which :meth:`load_rows` loads."""
        self._name = site.testbed.name
        self._site = site
        self._store = store
        self.place = store.place
        self._sections = {} if store.place == HERE else _digest_sections(site.testbed.text)
        self._changed = threading.Condition()
        self._inspecting = threading.Lock()
        self.revision = 0
        self.loaded = False
        """Whether the membership in memory is reliable."""
        self.ended = False
        self.damage = ""
        """The damage that the last inspection of the store found."""

    @contextmanager
    def hold_lock(self) -> Iterator["Stored"]:
        """Hold the lock, so that only this thread changes the membership."""
        with self._changed:
            yield self

    def load_rows(self, leads: bool) -> None:
        """Read all rows. The first time a leader stores the testbed's. Raises OlafError, also for a
        membership that was begun and is gone."""
        revision, stored = self._store.rows()
        if leads:
            own = {"name": self._name, "sections": self._sections} if self._sections else {"name": self._name}
            first = {} if revision else self._site.first()
            if not revision or (self._sections and stored.get(_TESTBED) != own):
                self._store.finish({**first, _TESTBED: own})
                revision, stored = self._store.rows()
            self._site.kept(self._store.place)
        try:
            membership = Membership(self._site.testbed.indices, stored)
        except (KeyError, TypeError, ValueError) as error:
            what = f"the stored membership cannot be used: {error}"
            raise OlafError(Problem(what, self._name, "restore a backup: olafctl restore")) from None
        check_fit(membership, make_ground(self._site.testbed))
        if leads:
            # The store does not know which updates wait in the queue.
            membership.drain_free()
        with self._changed:
            self.membership = membership
            self._draining = Draining()
            self._note_revision(revision)
        self.loaded = True

    @property
    def differing_sections(self) -> Sequence[str]:
        """Return the sections in which this testbed differs from that of the present or last leader."""
        theirs: Row = self.membership.rows.get(_TESTBED, {}).get("sections", {})
        names = theirs.keys() | self._sections.keys() if theirs else ()
        return sorted(name for name in names if theirs.get(name) != self._sections.get(name))

    def cluster_at(self, address: IPv4Address) -> Cluster | None:
        """Return the cluster of the member with this address."""
        member = self.membership.at(address)
        return None if member is None else self.membership.clusters[member.cluster]

    def follow_history(self) -> None:
        """Keep up with the changes that the leader stores. Raises OlafError."""
        for revision, events in groupby(self._store.history(self.revision), lambda each: each.revision):
            change = parse_row({event.key: event.row for event in events})
            with self._changed:
                # Only the leader knows which indices drain.
                for each in sorted(self.membership.draining):
                    self.membership.drained(each)
                self.membership.apply(change)
                self._note_revision(revision)

    def begin_change(self, change: Change) -> None:
        """Write down a change that is about to reach the devices. Raises OlafError."""
        self._store.begin(make_rows(change))

    def finish_change(self, change: Change) -> None:
        """Store a change that ``membership`` has already. Raises OlafError."""
        revision = self._store.finish(make_rows(change))
        with self._changed:
            self._note_revision(revision)

    def abandon_change(self) -> None:
        """Forget a change that was interrupted, once the devices are as they were. Raises OlafError."""
        if self._store.intent() is not None:
            _log.warning("%s: undid a change that was interrupted", self._name)
            self._store.abandon()

    def free_indices(self, queues: Mapping[str, Mapping[str, int]]) -> None:
        """Give back the indices of deleted clusters of which no update waits; ``queues`` has one snapshot of
        each queue's registers, by engine."""
        with self._changed:
            for each in self._draining.find_freed(sorted(self.membership.draining), queues):
                self.membership.drained(each)

    def watch(self, since: int, alive: Callable[[], bool], patience: float) -> Iterator[list[Event]]:
        """Yield every change after revision ``since``, as it comes, while ``alive``, which is called at least
        every ``patience`` seconds.

        Raises Compacted when the history does not reach back so far.
        """
        while alive() and not self.ended:
            events = self._store.history(since)
            if events:
                since = events[-1].revision
                yield events
            else:
                self._await_revision_after(since, patience)

    def inspect_store(self) -> None:
        """Have the whole store read by a separate thread, so that no change is the first to find a damaged
        page."""

        def inspect() -> None:
            with self._inspecting:
                try:
                    self._store.check()
                    found = ""
                except OlafError as error:
                    found = str(error)
                if found and found != self.damage and not self.ended:
                    _log.error("%s: %s", self._name, found)
                self.damage = found

        if not self._inspecting.locked():
            threading.Thread(target=inspect, name=f"store {self._name}", daemon=True).start()

    def backup(self) -> str:
        """Return a backup of all that is stored, with keys and nonces. Raises OlafError."""
        return backup.backup_content(self._store, self._name)

    def end_watches(self) -> None:
        """End all watches."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Release the store."""
        self._store.close()

    def _note_revision(self, revision: int) -> None:
        """Note that the store has the present membership, as this revision."""
        self.revision = revision
        self.clusters, self.members = dict(self.membership.clusters), dict(self.membership.members)
        self._changed.notify_all()

    def _await_revision_after(self, since: int, patience: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.revision > since or self.ended, patience)


def _digest_sections(text: str) -> dict[str, str]:
    """Return a digest of each section of a testbed except its clusters, with which a membership only
    begins."""
    sections = yaml.safe_load(text).items()
    return {
        name: cache.digest([json.dumps(value, sort_keys=True)])
        for name, value in sections
        if name != "clusters"
    }
