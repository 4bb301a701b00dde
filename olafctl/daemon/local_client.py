"""One change without a daemon: the controller that a daemon would have, for as long as that change takes.

So a command does the same, and promises the same, whether a daemon keeps the deployment or none does.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from olafctl.control import members
from olafctl.control.deploy import find, find_running
from olafctl.control.store import Store
from olafctl.daemon.admission import Admission
from olafctl.daemon.api import convert, olaf_pb2
from olafctl.daemon.api.calls import Calls, Owned
from olafctl.daemon.api.client import request_of
from olafctl.daemon.controller import Controller
from olafctl.daemon.leadership import Alone
from olafctl.daemon.loaded import Status
from olafctl.daemon.messages.notices import Notices
from olafctl.daemon.operate import audit
from olafctl.daemon.site import Standing
from olafctl.membership.operations import Operations, Planned
from olafctl.membership.rules import NoRoom
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import processes
from olafctl.testbed.ground import ground
from olafswitch.errors import OlafError, Problem

_log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds within which updates of deleted clusters must leave the queue, and of moved workers the tree."""
_LOOK_AGAIN = 0.1
"""Seconds: a queue does not say when its updates have left."""
_TELL_MEMBERS = ("Halt", "Resume", "Help")
"""Calls after which control messages are under way to members."""


class LocalClient:
    """The API for a deployment that no daemon keeps. Calls raise OlafError, also when another olafctl is at
    work on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._name = store.folder.name

    def call(self, name: str, /, **fields: Any) -> Any:
        """As :meth:`Client.call`."""
        request = request_of(name, {**fields, "deployment": self._name})
        if name == "GetStatus":
            return olaf_pb2.GetStatusAnswer(deployments=[convert.status_message(self._status())])
        if name == "GetQueues":
            return self._queues()
        try:
            answer = self._change(name, request)
        except OlafError as error:
            self._note(name, request, str(error)[:500])
            raise
        self._note(name, request, "ok")
        return answer

    def _note(self, name: str, request: Any, outcome: str) -> None:
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

    def _change(self, name: str, request: Any) -> Any:
        with self._owned() as owned:
            calls, until = Calls({self._name: owned}), time.monotonic() + _PATIENCE
            while True:
                try:
                    answer = calls.answer(name, request)
                    break
                except NoRoom:
                    drains = owned.controller.look(lambda membership: bool(membership.draining))
                    if not drains or time.monotonic() > until:
                        raise
                    time.sleep(_LOOK_AGAIN)
            while owned.controller.southbound.settling and time.monotonic() < until:
                time.sleep(_LOOK_AGAIN)
            if name in _TELL_MEMBERS:
                owned.controller.southbound.flush()
            return answer

    def watch(self, deployment: str = "", resume_token: str = "") -> Iterator[Any]:
        """Raises OlafError: only a daemon reports changes as they come."""
        remedy = "start olafctl daemon; olafctl cluster list shows what there is"
        raise OlafError(Problem("no daemon keeps it, and only a daemon reports changes", self._name, remedy))

    @contextmanager
    def _owned(self) -> Iterator[Owned]:
        with closing(Standing(self.store)) as site:
            store = SqliteStore(self.store.folder)
            try:
                controller = Controller(site, store, Alone(takes_over=False))
            except OlafError:
                store.close()
                raise
            with closing(controller), closing(Admission(controller, site.testbed)) as admission:
                controller.start()
                controller.submit(lambda membership: Planned({}, {})).result()  # the devices are reached then
                operations = Operations(ground(site.testbed))
                notices = Notices(controller, site.testbed)
                udp_port = site.testbed.udp_port
                yield Owned(controller, admission, operations, notices, udp_port, controller.close)

    def _status(self) -> Status:
        members.check_here(self.store)
        testbed, running = find(self.store)
        stopped = processes.stopped(self.store.folder)
        ready = running is not None and not stopped and running.alive()
        return Status(
            name=self._name,
            revision=members.revision(self.store),
            ready=ready,
            problem="" if ready else "; ".join(stopped) or "is not running",
            term=0,
            leader="",
            clusters=[cluster.shown() for cluster in testbed.clusters],
            members=[worker.to_row() for worker in testbed.workers],
        )

    def _queues(self) -> Any:
        _, running = find_running(self.store)
        queues = {engine: registers.read_all() for engine, registers in running.queues.items()}
        return convert.queues_message(queues, {}, {})
