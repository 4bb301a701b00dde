"""The store of several controllers: rows, an intent and a history in etcd.

Keys below ``/olaf/DEPLOYMENT/``: ``row/KEY``, ``intent``, ``log/REVISION`` with the whole change of a
revision, ``head`` with the newest revision, ``applied`` with the one that the rows have. A change that does
not fit into one transaction is in the log at once and reaches the rows piece by piece; until then readers
add it from the log.

Every write is a transaction that compares the leader's key: a controller that no longer leads changes
nothing.
"""

import json
import logging
import threading
from collections.abc import Sequence
from typing import Any

from olafctl.daemon.etcd import messages
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.leadership import Leadership, NotLeader
from olafctl.membership.interface import Compacted, Event, Row, Rows
from olafswitch.errors import OlafError, Problem

_KEPT = 100_000
_AT_ONCE = 1000
_OPERATIONS = 100  # etcd takes 128 in a transaction by default
_log = logging.getLogger(__name__)


def prefix(deployment: str) -> bytes:
    """Return the prefix of a deployment's keys."""
    return f"/olaf/{deployment}/".encode()


def leader_key(deployment: str) -> bytes:
    """Return the key that its leader holds."""
    return prefix(deployment) + b"leader"


class EtcdStore:
    """See :class:`olafctl.membership.interface.MembershipStore`. Any thread may call it."""

    def __init__(self, etcd: Etcd, deployment: str, leadership: Leadership, *, kept: int = _KEPT) -> None:
        """``kept`` revisions of history stay. ``leadership`` is closed by its owner, and so is ``etcd``."""
        self._etcd = etcd
        self._leadership = leadership
        self._kept = kept
        self._prefix = prefix(deployment)
        self._leader = leader_key(deployment)
        self._lock = threading.Lock()
        self._head: int | None = None
        """The newest revision, and then the one that the rows have; None: to be read."""
        self._applied = 0

    @property
    def place(self) -> str:
        return f"etcd at {','.join(self._etcd.endpoints)}"

    def rows(self) -> tuple[int, dict[str, Row]]:
        rooms = self._key("row/")
        answer = self._etcd.transact(
            [], [messages.get(rooms, messages.after(rooms)), self._get("head"), self._get("applied")]
        )
        found = {pair.key.removeprefix(rooms).decode(): _document(pair) for pair in _pairs(answer, 0)}
        head, applied = _number(answer, 1), _number(answer, 2)
        for _, change in self._logged(applied, head, answer.header.revision):
            for key, row in change.items():
                if row is None:
                    found.pop(key, None)
                else:
                    found[key] = row
        with self._lock:
            self._head, self._applied = head, applied
        return head, found

    def intent(self) -> Rows | None:
        pairs = _pairs(self._etcd.transact([], [self._get("intent")]), 0)
        intent: Rows | None = _document(pairs[0]) if pairs else None
        return intent

    def begin(self, intent: Rows) -> None:
        with self._lock:
            self._write([], [self._put("intent", dict(intent))])

    def finish(self, change: Rows) -> int:
        with self._lock:
            self._read_head()
            assert self._head is not None
            if self._applied < self._head:
                self._apply()
            revision = self._head + 1
            operations = [
                self._put(f"log/{revision:016}", dict(change)),
                self._put("head", revision),
                messages.delete(self._key("intent")),
                messages.delete(self._key("log/"), self._key(f"log/{max(revision - self._kept + 1, 0):016}")),
            ]
            rows = [self._row(key, row) for key, row in change.items()]
            at_once = len(operations) + len(rows) < _OPERATIONS
            if at_once:
                operations += [*rows, self._put("applied", revision)]
            last = str(self._head).encode() if self._head else None
            self._head = None
            self._write([messages.holds(self._key("head"), last)], operations)
            self._head = revision
            if at_once:
                self._applied = revision
                return revision
            try:
                self._apply()
            except OlafError as error:
                # It is in the log, so it is done; the rows follow with the next change.
                _log.warning("%s", error)
            return revision

    def abandon(self) -> None:
        with self._lock:
            self._write([], [messages.delete(self._key("intent"))])

    def history(self, since: int, limit: int = 1000) -> list[Event]:
        log = self._key("log/")
        first = messages.get(log, messages.after(log), limit=1, keys_only=True)
        answer = self._etcd.transact([], [self._get("head"), first])
        newest = _number(answer, 0)
        oldest = next((self._revision_of(pair.key) for pair in _pairs(answer, 1)), newest + 1)
        if since + 1 < oldest or since > newest:
            what = f"the history has revisions {oldest - 1} … {newest}, not {since}"
            raise Compacted(Problem(what, remedy="read the status and watch from its revision"))
        events: list[Event] = []
        for revision, change in self._logged(since, newest, answer.header.revision, limit):
            events += [Event(revision, key, row) for key, row in change.items()]
            if len(events) >= limit:
                break
        return events

    def check(self) -> None:
        """etcd checks its pages; this, what other programs may have done to the keys."""
        newest, _ = self.rows()
        self.intent()
        log = self._key("log/")
        answer = self._etcd.transact([], [messages.get(log, messages.after(log), limit=1, keys_only=True)])
        oldest = next((self._revision_of(pair.key) for pair in _pairs(answer, 0)), newest + 1)
        for first in range(oldest, newest + 1, _AT_ONCE):
            last = min(first + _AT_ONCE - 1, newest)
            found = {revision for revision, _ in self._logged(first - 1, last, 0)}
            lost = set(range(first, last + 1)) - found
            # What leaves the history at its old end meanwhile is not lost.
            if lost and max(lost) > newest - self._kept + _AT_ONCE:
                raise _damaged(self._key(f"log/{max(lost):016}"), "is missing")

    def close(self) -> None:
        """Nothing is held."""

    def _logged(
        self, since: int, newest: int, at: int, limit: int = 0
    ) -> list[tuple[int, dict[str, Row | None]]]:
        """Return the changes after revision ``since``, as etcd's revision ``at`` has them."""
        if since >= newest:
            return []
        first, end = self._key(f"log/{since + 1:016}"), self._key(f"log/{newest + 1:016}")
        answer = self._etcd.transact([], [messages.get(first, end, revision=at, limit=limit)])
        return [(self._revision_of(pair.key), _document(pair)) for pair in _pairs(answer, 0)]

    def _read_head(self) -> None:
        if self._head is None:
            answer = self._etcd.transact([], [self._get("head"), self._get("applied")])
            self._head, self._applied = _number(answer, 0), _number(answer, 1)

    def _apply(self) -> None:
        """Bring the rows to the newest revision, piece by piece."""
        assert self._head is not None
        for revision, change in self._logged(self._applied, self._head, 0):
            rows = [self._row(key, row) for key, row in change.items()]
            for start in range(0, len(rows), _OPERATIONS):
                self._write([], rows[start : start + _OPERATIONS])
            self._write([], [self._put("applied", revision)])
            self._applied = revision

    def _write(self, conditions: Sequence[Any], operations: Sequence[Any]) -> None:
        """One transaction as the leader. Raises NotLeader, or OlafError; then whether it was done is unknown
        unless the error says so."""
        self._leadership.check()
        conditions = [messages.created_at(self._leader, self._leadership.term), *conditions]
        answer = self._etcd.transact(conditions, operations, [messages.get(self._leader)])
        if answer.succeeded:
            return
        made = next((pair.create_revision for pair in _pairs(answer, 0)), 0)
        if made != self._leadership.term:
            raise NotLeader(self._leadership.leader, self._leadership.trouble)
        raise OlafError(
            Problem("another process wrote to the store; nothing was changed", self._prefix.decode())
        )

    def _key(self, name: str) -> bytes:
        return self._prefix + name.encode()

    def _get(self, name: str) -> Any:
        return messages.get(self._key(name))

    def _put(self, name: str, value: Any) -> Any:
        return messages.put(self._key(name), json.dumps(value).encode())

    def _row(self, key: str, row: Row | None) -> Any:
        return messages.delete(self._key(f"row/{key}")) if row is None else self._put(f"row/{key}", row)

    def _revision_of(self, key: bytes) -> int:
        return int(key.rpartition(b"/")[2])


def _pairs(answer: Any, number: int) -> Sequence[Any]:
    pairs: Sequence[Any] = answer.responses[number].response_range.kvs
    return pairs


def _number(answer: Any, number: int) -> int:
    pairs = _pairs(answer, number)
    found = _document(pairs[0]) if pairs else 0
    if not isinstance(found, int):
        raise _damaged(pairs[0].key, "is not a number")
    return found


def _document(pair: Any) -> Any:
    """Return a key's value. Raises OlafError."""
    try:
        return json.loads(pair.value)
    except ValueError:
        raise _damaged(pair.key, "is not JSON") from None


def _damaged(key: bytes, what: str) -> OlafError:
    remedy = "end the daemons, delete the deployment's keys and restore a backup: olafctl restore"
    return OlafError(
        Problem(f"is damaged: {key.decode(errors='replace')} {what}", "the store in etcd", remedy)
    )
