"""Leadership by a lease of etcd: the daemon that made the key ``leader`` leads while the lease lives.

The leader's term is the revision at which it made the key. etcd's revisions only grow, so a later leader's
term is higher, and with it its P4Runtime election id, by which the devices refuse an earlier leader. The
lease counts from the moment at which its prolongation was requested, by a clock that goes on in suspension:
the leader stops on its own, a margin before etcd can give the key to another.

An error here ends the leadership, not the thread: a daemon that does not know whether it leads, follows.
"""

import json
import logging
import threading
import time
from collections.abc import Callable

from olafctl.daemon.etcd import messages
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.store import leader_key
from olafctl.daemon.leadership import NotLeader
from olafswitch.errors import OlafError, Problem

LEASE_SECONDS = 2
"""The shortest lease that etcd grants with its own defaults."""
_PATIENCE = 0.2
_MARGIN = 0.25
"""The part of the lease before whose end the leader stops."""
_log = logging.getLogger(__name__)


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class EtcdLeadership:
    """The :class:`olafctl.daemon.leadership.Leadership` by a lease of etcd, see the module."""

    takes_over = False
    patience = _PATIENCE

    def __init__(
        self,
        etcd: Etcd,
        deployment: str,
        address: str,
        *,
        seconds: int = LEASE_SECONDS,
        clock: Callable[[], float] = _boot_time,
    ) -> None:
        """Campaign from now on, with the API's ``address`` and a lease of ``seconds``."""
        self._etcd = etcd
        self._deployment = deployment
        self._key = leader_key(deployment)
        self._address = address
        self._value = json.dumps({"address": address}).encode()
        self._seconds = seconds
        self._clock = clock
        self._lease = 0
        self._term = 0
        self._until = 0.0
        self._leader = ""
        self._trouble = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run_campaign, name=f"leadership {deployment}", daemon=True
        )
        self._thread.start()

    @property
    def term(self) -> int:
        return self._term if self._clock() < self._until else 0

    @property
    def leader(self) -> str:
        return self._leader

    @property
    def trouble(self) -> str:
        return self._trouble

    @property
    def election_id(self) -> int:
        # Above the times that one-shot commands use, which have 64 bits.
        return self._term << 64

    def check(self) -> None:
        if not self.term:
            raise NotLeader(self._leader, self._trouble)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run_campaign(self) -> None:
        while not self._ended.is_set():
            wait = self.patience
            try:
                if self._term:
                    self._prolong_lease()
                    wait = self._seconds / 4
                else:
                    self._try_to_lead()
                self._trouble = ""
            except OlafError as error:
                self._note_trouble(str(error))
            except Exception as error:
                self._note_trouble(f"a defect of the daemon: {error!r}", error)
                self._until = 0.0
            if self._term and not self.term:
                self._step_down("its lease or its key is lost")
            self._ended.wait(wait)
        self._step_down("it ends")

    def _note_trouble(self, trouble: str, defect: Exception | None = None) -> None:
        """Record why the leader is not known; log a warning when that begins."""
        level = logging.INFO if self._trouble else logging.WARNING
        _log.log(level, "%s: %s", self._deployment, trouble, exc_info=defect)
        self._trouble = trouble
        if not self._term:
            self._leader = ""

    def _try_to_lead(self) -> None:
        """Take the key if it is free, and learn who leads if it is not. Raises OlafError."""
        found = self._etcd.transact([], [messages.get_keys(self._key)]).responses[0].response_range.kvs
        if found:
            self._leader = self._address_in(found[0].value)
            return
        self._leader = ""
        wanted = self._clock()
        self._lease, seconds = self._etcd.grant_lease(self._seconds)
        free = messages.created_at(self._key, 0)
        try:
            answer = self._etcd.transact([free], [messages.put_key(self._key, self._value, self._lease)])
        except Exception:
            self._revoke_lease()  # the key may have been made all the same
            raise
        if not answer.succeeded:
            self._revoke_lease()
            return
        self._leader = self._address
        self._trouble = ""  # this comes before the term can be seen: a leader has no trouble
        self._until = wanted + seconds * (1 - _MARGIN)
        self._term = int(answer.header.revision)
        _log.warning("%s: leads, term %d", self._deployment, self._term)

    def _address_in(self, value: bytes) -> str:
        """Return the address that the key holds. Raises OlafError when no leader can have written the key."""
        try:
            return str(json.loads(value)["address"])
        except (ValueError, TypeError, KeyError):
            what = f"holds {value[:40]!r}, which no leader wrote"
            remedy = "if no daemon leads, delete it: etcdctl del KEY"
            raise OlafError(Problem(what, self._key.decode(), remedy)) from None

    def _prolong_lease(self) -> None:
        """Prolong the lease. Raises OlafError when etcd does not answer."""
        wanted = self._clock()
        seconds = self._etcd.prolong_lease(self._lease)
        self._until = wanted + seconds * (1 - _MARGIN) if seconds else 0.0
        if seconds:
            self._hold_key()

    def _hold_key(self) -> None:
        """Check that the key exists; if another process wrote over it, write it again.

        Raises OlafError when the key is gone; then this daemon no longer leads.
        """
        ours = messages.created_at(self._key, self._term)
        answer = self._etcd.transact([ours], [messages.get_keys(self._key)])
        if not answer.succeeded:
            self._until = 0.0
            raise OlafError(Problem("is gone: another process removed it", self._key.decode()))
        found = answer.responses[0].response_range.kvs[0]
        if (found.value, found.lease) != (self._value, self._lease):
            _log.warning(
                "%s: %s was written over by another process; it is written again",
                self._deployment,
                self._key.decode(),
            )
            self._etcd.transact([ours], [messages.put_key(self._key, self._value, self._lease)])

    def _step_down(self, why: str) -> None:
        if self._term:
            _log.warning("%s: no longer leads: %s", self._deployment, why)
            self._until, self._term, self._leader = 0.0, 0, ""
            self._revoke_lease()

    def _revoke_lease(self) -> None:
        """Revoke the lease; a lease that cannot be revoked ends by itself."""
        lease, self._lease = self._lease, 0
        if lease:
            try:
                self._etcd.revoke_lease(lease)
            except Exception as error:
                _log.info("%s: lease %d: %s", self._deployment, lease, error)
