"""The store of several controllers: rows, an intent and a history in etcd.

Keys below ``/olaf/DEPLOYMENT/``: ``row/KEY``, ``intent``, ``log/REVISION`` with the whole change of a
revision, ``head`` with the newest revision, ``applied`` with the revision of the rows. A change that does not
fit into one transaction is in the log at once and reaches the rows piece by piece; until then readers add it
from the log.

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


def prefix_of(deployment: str) -> bytes:
    """Return the prefix of a deployment's keys."""
    return f"/olaf/{deployment}/".encode()


def leader_key(deployment: str) -> bytes:
    """Return the key that the deployment's leader holds."""
    return prefix_of(deployment) + b"leader"


class EtcdStore:
    """The :class:`olafctl.membership.interface.MembershipStore` in etcd. Any thread may call it."""

    def __init__(self, etcd: Etcd, deployment: str, leadership: Leadership, *, kept: int = _KEPT) -> None:
        """Open the store, which keeps ``kept`` revisions; the caller closes ``leadership`` and ``etcd``."""
        self._etcd = etcd
        self._leadership = leadership
        self._kept = kept
        self._prefix = prefix_of(deployment)
        self._leader = leader_key(deployment)
        self._lock = threading.Lock()
        self._head: int | None = None
        """The newest revision, which the rows have after a read; None: to be read."""
        self._applied = 0

    @property
    def place(self) -> str:
        return f"etcd at {','.join(self._etcd.endpoints)}"

    def rows(self) -> tuple[int, dict[str, Row]]:
        rooms = self._key_of("row/")
        answer = self._etcd.transact(
            [],
            [
                messages.get_keys(rooms, messages.end_of_prefix(rooms)),
                self._get_key("head"),
                self._get_key("applied"),
            ],
        )
        found = {
            pair.key.removeprefix(rooms).decode(): _parse_document(pair) for pair in _pairs_of(answer, 0)
        }
        head, applied = _parse_number(answer, 1), _parse_number(answer, 2)
        for _, change in self._read_log(applied, head, answer.header.revision):
            for key, row in change.items():
                if row is None:
                    found.pop(key, None)
                else:
                    found[key] = row
        with self._lock:
            self._head, self._applied = head, applied
        return head, found

    def intent(self) -> Rows | None:
        pairs = _pairs_of(self._etcd.transact([], [self._get_key("intent")]), 0)
        intent: Rows | None = _parse_document(pairs[0]) if pairs else None
        return intent

    def begin(self, intent: Rows) -> None:
        with self._lock:
            self._write_as_leader([], [self._put_key("intent", dict(intent))])

    def finish(self, change: Rows) -> int:
        with self._lock:
            self._read_head()
            assert self._head is not None
            if self._applied < self._head:
                self._apply_log()
            revision = self._head + 1
            operations = [
                self._put_key(f"log/{revision:016}", dict(change)),
                self._put_key("head", revision),
                messages.delete_keys(self._key_of("intent")),
                messages.delete_keys(
                    self._key_of("log/"), self._key_of(f"log/{max(revision - self._kept + 1, 0):016}")
                ),
            ]
            rows = [self._put_row(key, row) for key, row in change.items()]
            at_once = len(operations) + len(rows) < _OPERATIONS
            if at_once:
                operations += [*rows, self._put_key("applied", revision)]
            last = str(self._head).encode() if self._head else None
            self._head = None
            self._write_as_leader([messages.key_holds(self._key_of("head"), last)], operations)
            self._head = revision
            if at_once:
                self._applied = revision
                return revision
            try:
                self._apply_log()
            except OlafError as error:
                # The change is in the log, so it is done; the rows follow with the next change.
                _log.warning("%s", error)
            return revision

    def abandon(self) -> None:
        with self._lock:
            self._write_as_leader([], [messages.delete_keys(self._key_of("intent"))])

    def history(self, since: int, limit: int = 1000) -> list[Event]:
        log = self._key_of("log/")
        first = messages.get_keys(log, messages.end_of_prefix(log), limit=1, keys_only=True)
        answer = self._etcd.transact([], [self._get_key("head"), first])
        newest = _parse_number(answer, 0)
        oldest = next((self._revision_of(pair.key) for pair in _pairs_of(answer, 1)), newest + 1)
        if since + 1 < oldest or since > newest:
            what = f"the history has revisions {oldest - 1} … {newest}, not {since}"
            raise Compacted(Problem(what, remedy="read the status and watch from its revision"))
        events: list[Event] = []
        for revision, change in self._read_log(since, newest, answer.header.revision, limit):
            events += [Event(revision, key, row) for key, row in change.items()]
            if len(events) >= limit:
                break
        return events

    def check(self) -> None:
        """Check the keys, which other programs may have changed; etcd itself checks its pages."""
        newest, _ = self.rows()
        self.intent()
        log = self._key_of("log/")
        answer = self._etcd.transact(
            [], [messages.get_keys(log, messages.end_of_prefix(log), limit=1, keys_only=True)]
        )
        oldest = next((self._revision_of(pair.key) for pair in _pairs_of(answer, 0)), newest + 1)
        for first in range(oldest, newest + 1, _AT_ONCE):
            last = min(first + _AT_ONCE - 1, newest)
            found = {revision for revision, _ in self._read_log(first - 1, last, 0)}
            lost = set(range(first, last + 1)) - found
            # A revision that leaves the history at its old end meanwhile is not lost.
            if lost and max(lost) > newest - self._kept + _AT_ONCE:
                raise _damage_error(self._key_of(f"log/{max(lost):016}"), "is missing")

    def close(self) -> None:
        """Do nothing: the store holds no resources."""

    def _read_log(
        self, since: int, newest: int, at: int, limit: int = 0
    ) -> list[tuple[int, dict[str, Row | None]]]:
        """Return the changes after revision ``since``, as of etcd's revision ``at``."""
        if since >= newest:
            return []
        first, end = self._key_of(f"log/{since + 1:016}"), self._key_of(f"log/{newest + 1:016}")
        answer = self._etcd.transact([], [messages.get_keys(first, end, revision=at, limit=limit)])
        return [(self._revision_of(pair.key), _parse_document(pair)) for pair in _pairs_of(answer, 0)]

    def _read_head(self) -> None:
        if self._head is None:
            answer = self._etcd.transact([], [self._get_key("head"), self._get_key("applied")])
            self._head, self._applied = _parse_number(answer, 0), _parse_number(answer, 1)

    def _apply_log(self) -> None:
        """Bring the rows to the newest revision, piece by piece."""
        assert self._head is not None
        for revision, change in self._read_log(self._applied, self._head, 0):
            rows = [self._put_row(key, row) for key, row in change.items()]
            for start in range(0, len(rows), _OPERATIONS):
                self._write_as_leader([], rows[start : start + _OPERATIONS])
            self._write_as_leader([], [self._put_key("applied", revision)])
            self._applied = revision

    def _write_as_leader(self, conditions: Sequence[Any], operations: Sequence[Any]) -> None:
        """Make one transaction as the leader. Raises NotLeader, or OlafError; then whether it was done is
        unknown unless the error says so."""
        self._leadership.check()
        conditions = [messages.created_at(self._leader, self._leadership.term), *conditions]
        answer = self._etcd.transact(conditions, operations, [messages.get_keys(self._leader)])
        if answer.succeeded:
            return
        made = next((pair.create_revision for pair in _pairs_of(answer, 0)), 0)
        if made != self._leadership.term:
            raise NotLeader(self._leadership.leader, self._leadership.trouble)
        raise OlafError(
            Problem("another process wrote to the store; nothing was changed", self._prefix.decode())
        )

    def _key_of(self, name: str) -> bytes:
        return self._prefix + name.encode()

    def _get_key(self, name: str) -> Any:
        return messages.get_keys(self._key_of(name))

    def _put_key(self, name: str, value: Any) -> Any:
        return messages.put_key(self._key_of(name), json.dumps(value).encode())

    def _put_row(self, key: str, row: Row | None) -> Any:
        return (
            messages.delete_keys(self._key_of(f"row/{key}"))
            if row is None
            else self._put_key(f"row/{key}", row)
        )

    def _revision_of(self, key: bytes) -> int:
        return int(key.rpartition(b"/")[2])


def _pairs_of(answer: Any, number: int) -> Sequence[Any]:
    pairs: Sequence[Any] = answer.responses[number].response_range.kvs
    return pairs


def _parse_number(answer: Any, number: int) -> int:
    pairs = _pairs_of(answer, number)
    found = _parse_document(pairs[0]) if pairs else 0
    if not isinstance(found, int):
        raise _damage_error(pairs[0].key, "is not a number")
    return found


def _parse_document(pair: Any) -> Any:
    """Return a key's value. Raises OlafError."""
    try:
        return json.loads(pair.value)
    except ValueError:
        raise _damage_error(pair.key, "is not JSON") from None


def _damage_error(key: bytes, what: str) -> OlafError:
    remedy = "end the daemons, delete the deployment's keys and restore a backup: olafctl restore"
    return OlafError(
        Problem(f"is damaged: {key.decode(errors='replace')} {what}", "the store in etcd", remedy)
    )
