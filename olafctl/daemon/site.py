"""Find the processes of a deployment for the daemon, and start them when they are gone."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from olafctl.control import members
from olafctl.control.deploy import (
    current_testbed,
    deploy_testbed,
    find_deployment,
    find_running,
    recorded_testbed,
)
from olafctl.control.locks import CHANGE, hold_lock
from olafctl.control.store import RecordRole, Store, adopt_testbed
from olafctl.membership.interface import HERE
from olafctl.membership.membership import rows_of
from olafctl.membership.model import Cluster, Row
from olafctl.targets.interface import Progress, Running
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, OlafError, Problem


class Site(Protocol):
    """A deployment's processes, seen by the daemon. Every call raises OlafError."""

    @property
    def testbed(self) -> Testbed: ...

    @property
    def folder(self) -> Path:
        """The folder of the deployment's state."""

    def running(self) -> Running | None:
        """Return the running target; None when it does not run."""

    def start(self, clusters: Sequence[Cluster]) -> Running:
        """Start the target, with these clusters."""

    def first(self) -> Mapping[str, Row]:
        """Return a membership's first rows. Raises OlafError where there was a membership before."""

    def kept(self, place: str) -> None:
        """Note the store of the membership. Raises OlafError where it is known to be in another store."""

    def close(self) -> None:
        """Leave the deployment as it is, for others to change until it is used again."""


class Deployment:
    """A deployment of this machine's olafctl. While it is in use no other olafctl may change it."""

    _patience = 5.0
    """Seconds for which a daemon waits for a command that changes the deployment."""

    def __init__(self, store: Store, testbed: Testbed, progress: Progress, *, standby: bool = False) -> None:
        """Deploy a testbed that was never deployed. On ``standby`` others may change it until its first use.

        Raises OlafError, also when another olafctl works on it.
        """
        self._store = store
        self._progress = progress
        self._locks = ExitStack()
        self._locked = False
        record = store.record(RecordRole.RUNNING)
        if record is None and standby and testbed.machines:
            adopt_testbed(testbed)  # the leader starts it
        elif record is None:
            deploy_testbed(testbed, progress)
        elif record.testbed != testbed.text:
            remedy = "deploy it first: olafctl deploy, while no daemon runs"
            raise BadInput(Problem("what runs was deployed from another text", str(testbed.source), remedy))
        if not standby:
            self._lock()
        self.testbed = current_testbed(store)

    @property
    def folder(self) -> Path:
        return self._store.folder

    def running(self) -> Running | None:
        self._lock()
        _, running = find_deployment(self._store)
        return running if running is not None and running.alive() else None

    def first(self) -> Mapping[str, Row]:
        rows = members.stored_rows(self._store)
        return rows_of(recorded_testbed(self._store).clusters) if rows is None else rows

    def kept(self, place: str) -> None:
        known = self._store.membership()
        if place == HERE and known not in ("", HERE):
            remedy = f"give --etcd {known.removeprefix('etcd at ')}"
            raise OlafError(Problem(f"its membership is kept in {known}", self.testbed.name, remedy))
        if place != known:
            self._store.put_membership(place)

    def start(self, clusters: Sequence[Cluster]) -> Running:
        self.close()
        deploy_testbed(replace(self.testbed, clusters=tuple(clusters)), self._progress, as_given=True)
        self._lock()
        _, running = find_deployment(self._store)
        assert running is not None
        return running

    def close(self) -> None:
        self._locks.close()
        self._locked = False

    def _lock(self) -> None:
        if not self._locked:
            self._locks.enter_context(hold_lock(self._store.folder, CHANGE, self._patience))
            self._locked = True


class RunningDeployment(Deployment):
    """A deployment that runs, for one change. Raises OlafError when it does not run."""

    _patience = 0.0

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks = ExitStack()
        self._locked = False
        self._lock()
        try:
            members.check_here(store)
            self.testbed, _ = find_running(store)
        except BaseException:
            self.close()
            raise

    def running(self) -> Running:
        _, running = find_running(self._store)
        return running

    def start(self, clusters: Sequence[Cluster]) -> Running:
        raise OlafError(Problem("is not running", self.testbed.name, "olafctl deploy TESTBED"))
