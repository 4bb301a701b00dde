"""The membership of a deployment for other processes: through the daemon that keeps it, or in its place.

A daemon leaves a note in the deployment's folder, by which commands find it. Without one the store is opened
here, and the change is made by the controller that a daemon would have, for as long as that change takes. So
a command does and promises the same, whether a daemon keeps the deployment or none does.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from olafctl.control import members
from olafctl.control.deploy import find_deployment, find_running, recorded_testbed
from olafctl.control.locks import CHANGE, hold_lock, unless_changing
from olafctl.control.status import KeptMembership
from olafctl.control.store import Store, folder_of, is_others
from olafctl.daemon.admission import Admission
from olafctl.daemon.api import convert, olaf_pb2
from olafctl.daemon.api.calls import Calls, Owned
from olafctl.daemon.api.client import ADDRESS, DaemonClient, request_of
from olafctl.daemon.api.convert import clusters_of
from olafctl.daemon.controller import Controller, Unavailable
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.leadership import EtcdLeadership
from olafctl.daemon.etcd.store import EtcdStore
from olafctl.daemon.leadership import Alone
from olafctl.daemon.loaded import Status
from olafctl.daemon.messages.notices import Notices
from olafctl.daemon.operate import audit
from olafctl.daemon.site import RunningDeployment
from olafctl.membership import sqlite
from olafctl.membership.interface import MembershipStore
from olafctl.membership.model import Cluster
from olafctl.membership.operations import Operations, Planned
from olafctl.membership.rules import NoRoom
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import processes
from olafctl.testbed.ground import make_ground
from olafswitch.errors import BadInput, OlafError, Problem

_NOTE = "daemon"


@contextmanager
def leave_note(folder: Path, address: str) -> Iterator[None]:
    """Let others find the daemon at ``address`` inside the context. Raises OlafError."""
    note = folder / _NOTE
    try:
        note.touch(mode=0o600)
        note.write_text(address)
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(note))) from error
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


@contextmanager
def open_keeper(folder: Path) -> Iterator[DaemonClient | None]:
    """Yield a client of the daemon that keeps the deployment in ``folder``; None when no daemon does.

    Raises OlafError when a daemon does and does not answer.
    """
    try:
        address = (folder / _NOTE).read_text()
    except OSError:
        address = os.environ.get(ADDRESS, "")
        if not address or not is_others(Store(folder)):
            yield None
            return
    with DaemonClient(address) as client:
        yield client if _is_keeper(client, folder) else None


def is_elsewhere(folder: Path) -> bool:
    """Return whether the deployment in ``folder`` is only a note of one that another machine deployed."""
    return is_others(Store(folder))


def _is_keeper(client: DaemonClient, folder: Path) -> bool:
    try:
        client.call("GetStatus", deployment=folder.name, summary=True)
    except BadInput:
        return False  # another daemon is there now
    except Unavailable:
        return True
    except OlafError:
        if is_others(Store(folder)):
            raise
        # A daemon that was killed leaves its note; one that lives holds the deployment's lock.
        with unless_changing(folder) as quiet:
            if quiet:
                return False
        raise
    return True


def kept_by(client: DaemonClient, deployment: str) -> KeptMembership:
    """Return the membership that a daemon keeps. Raises OlafError."""
    [status] = client.call("GetStatus", deployment=deployment).deployments
    # The leader has read it; the trouble that keeps it from being ready is at the devices.
    return KeptMembership(client.address, clusters_of(status), "" if status.term else status.problem)


_AGAIN = 1.0

Report = Callable[[tuple[Cluster, ...]], None]


def follow_membership(address: str, deployment: str, report: Report) -> None:
    """Start a thread that calls ``report`` with the clusters and members of a daemon at ``address``.

    It reports now and after every change, or after several fast ones. Without an answer it asks again.
    """
    threading.Thread(
        target=_run_follower, args=(address, deployment, report), name="membership", daemon=True
    ).start()


def _run_follower(address: str, deployment: str, report: Report) -> None:
    pause = threading.Event()
    while True:
        try:
            with DaemonClient(address) as client:
                while True:
                    [status] = client.call("GetStatus", deployment=deployment).deployments
                    report(clusters_of(status))
                    next(client.watch(deployment, status.resume_token), None)
        except OlafError:
            pause.wait(_AGAIN)


_LEADS_SECONDS = 10.0


@contextmanager
def open_for_reading(
    deployment: str, endpoints: str | None, certificates: Path | None
) -> Iterator[MembershipStore]:
    """Yield the store in etcd, else this machine's. Raises OlafError."""
    if endpoints:
        with closing(Etcd(endpoints.split(","), certificates)) as etcd:
            yield EtcdStore(etcd, deployment, Alone())
        return
    folder = folder_of(deployment)
    if not (folder / sqlite.FILE).exists():
        raise OlafError(Problem("no daemon has kept its membership yet", deployment, "olafctl daemon"))
    with closing(sqlite.SqliteStore(folder)) as store:
        yield store


def kept_in(deployed: Store, endpoints: str, certificates: Path | None) -> KeptMembership:
    """Return a deployment's membership from an etcd. Raises OlafError, also where etcd has none."""
    name = deployed.folder.name
    with open_for_reading(name, endpoints, certificates) as store:
        revision, rows = store.rows()
    if not revision:
        raise OlafError(Problem(f"{store.place} has no membership of it", name, "give another --etcd"))
    return KeptMembership(None, members.with_rows(recorded_testbed(deployed), rows).clusters)


@contextmanager
def open_for_changing(
    deployment: str, endpoints: str | None, certificates: Path | None
) -> Iterator[MembershipStore]:
    """Yield the store, which no daemon changes meanwhile; a new store where this machine's is damaged.

    Raises OlafError when a daemon owns it.
    """
    folder = folder_of(deployment)
    if not endpoints:
        with hold_lock(folder, CHANGE):
            sqlite.put_aside(folder)
            with closing(sqlite.SqliteStore(folder)) as store:
                yield store
        return
    with closing(Etcd(endpoints.split(","), certificates)) as etcd:
        leadership = EtcdLeadership(etcd, deployment, "")
        try:
            _await_leading(leadership, deployment)
            yield EtcdStore(etcd, deployment, leadership)
        finally:
            leadership.close()


def _await_leading(leadership: EtcdLeadership, deployment: str) -> None:
    deadline = time.monotonic() + _LEADS_SECONDS
    while not leadership.term:
        if leadership.leader or time.monotonic() > deadline:
            who = f"the daemon at {leadership.leader} leads" if leadership.leader else "etcd gives no lease"
            raise OlafError(Problem(f"nothing was changed: {who}", deployment, "end every daemon first"))
        time.sleep(0.05)


_log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""The seconds within which deleted clusters' updates must leave the queue, and moved workers' the tree."""
_LOOK_AGAIN = 0.1
"""The seconds between two reads: a queue does not say when its updates have left."""
_TELL_MEMBERS = ("Halt", "Resume", "Help")
"""The calls after which control messages are on their way to members."""


class LocalClient:
    """The API for a deployment that no daemon keeps. Calls raise OlafError, also when another olafctl works
    on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._name = store.folder.name

    def call(self, name: str, /, **fields: Any) -> Any:
        """Return the answer of one call, as :meth:`DaemonClient.call` does."""
        request = request_of(name, {**fields, "deployment": self._name})
        if name == "GetStatus":
            return olaf_pb2.GetStatusAnswer(deployments=[convert.status_message(self._read_status())])
        if name == "GetQueues":
            return self._read_queues()
        try:
            answer = self._make_change(name, request)
        except OlafError as error:
            self._note_in_audit(name, request, str(error)[:500])
            raise
        self._note_in_audit(name, request, "ok")
        if name == "CreateCluster" and (request.open or request.key):
            _log.warning("no daemon runs: workers join %s once olafctl daemon does", request.name)
        return answer

    def _note_in_audit(self, name: str, request: Any, outcome: str) -> None:
        """Add a change, or a refused one, to the audit log of daemons."""
        log = None
        try:
            log = audit.AuditLog(audit.default_path())
            log.append(
                f"olafctl of user {os.getuid()}", name, outcome, request=audit.fields_of(request)
            ).result()
        except OlafError as error:
            _log.warning("%s", error)
        finally:
            if log is not None:
                log.close()

    def _make_change(self, name: str, request: Any) -> Any:
        with self._own_deployment() as owned:
            calls, until = Calls({self._name: owned}), time.monotonic() + _PATIENCE
            while True:
                try:
                    answer = calls.answer_call(name, request)
                    break
                except NoRoom:
                    drains = owned.controller.look(lambda membership: bool(membership.draining))
                    if not drains or time.monotonic() > until:
                        raise
                    time.sleep(_LOOK_AGAIN)
            while owned.controller.southbound.has_unsettled and time.monotonic() < until:
                time.sleep(_LOOK_AGAIN)
            if name in _TELL_MEMBERS:
                owned.controller.southbound.flush_frames()
            return answer

    def watch(self, deployment: str = "", resume_token: str = "") -> Iterator[Any]:
        """Raise OlafError: only a daemon reports changes as they come."""
        remedy = "start olafctl daemon; olafctl cluster list shows what there is"
        raise OlafError(Problem("no daemon keeps it, and only a daemon reports changes", self._name, remedy))

    @contextmanager
    def _own_deployment(self) -> Iterator[Owned]:
        with closing(RunningDeployment(self.store)) as site:
            store = SqliteStore(self.store.folder)
            try:
                controller = Controller(site, store, Alone(takes_over=False))
            except OlafError:
                store.close()
                raise
            with closing(controller), closing(Admission(controller, site.testbed)) as admission:
                controller.start()
                controller.submit(lambda membership: Planned({}, {})).result()  # the devices are reached then
                operations = Operations(make_ground(site.testbed))
                notices = Notices(controller, site.testbed)
                udp_port = site.testbed.udp_port
                yield Owned(controller, admission, operations, notices, udp_port, controller.close)

    def _read_status(self) -> Status:
        members.check_here(self.store)
        testbed, running = find_deployment(self.store)
        stopped = processes.list_stopped(self.store.folder)
        ready = running is not None and not stopped and running.alive()
        return Status(
            name=self._name,
            revision=members.stored_revision(self.store),
            ready=ready,
            problem="" if ready else "; ".join(stopped) or "is not running",
            term=0,
            leader="",
            clusters=[cluster.shown() for cluster in testbed.clusters],
            members=[worker.to_row() for worker in testbed.workers],
        )

    def _read_queues(self) -> Any:
        _, running = find_running(self.store)
        queues = {engine: registers.read_all() for engine, registers in running.queues.items()}
        return convert.queues_message(queues, {}, {})
