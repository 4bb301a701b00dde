"""Move a worker to another cluster while traffic flows (OLAF §7, control plane)."""

from olafctl.control import devices
from olafctl.control.deploy import find_running
from olafctl.control.desired import desired
from olafctl.control.locks import CHANGE, held
from olafctl.control.membership import index_of, with_worker_in
from olafctl.control.plan import Plan
from olafctl.control.store import Regrouped, Store
from olafctl.testbed.model import Testbed


def regroup(store: Store, worker: str, cluster: int | str) -> Plan:
    """Put a worker into the cluster of that index or name; returns the verified changes.

    No frame is lost meanwhile: the worker is in both groups before it leaves the old one. When this
    returns, nothing of the old cluster reaches it any more. Redeploying the same testbed keeps the move.
    Raises BadInput when there is no such worker or cluster, OlafError when nothing runs or a write fails;
    then, and when it is interrupted, everything stays, or is put back, as it was.
    """
    with held(store.folder, CHANGE):
        testbed, running = find_running(store)
        index = index_of(testbed, cluster)
        moved = with_worker_in(testbed, worker, index)
        with devices.controlling(running) as sessions:
            try:
                changes = devices.converge(running, sessions, desired(moved))
                store.put_regrouped(Regrouped(worker, _home(store, worker, testbed), index))
            except BaseException:
                devices.converge(running, sessions, desired(testbed))
                raise
        return changes


def _home(store: Store, worker: str, testbed: Testbed) -> int:
    """The cluster that the testbed's file puts the worker in."""
    for move in store.regrouped():
        if move.worker == worker:
            return move.home
    return next(each.cluster for each in testbed.workers if each.name == worker)
