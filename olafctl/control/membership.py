"""Clusters as they are now: the testbed's, with what was changed of them at run time."""

from dataclasses import replace

from olafctl.control.store import Controlled, Store
from olafctl.errors import BadInput, Problem
from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed


def effective(testbed: Testbed, store: Store) -> Testbed:
    """``testbed`` with workers moved, H set and clusters halted as the store says.

    A move is void once its worker is gone or its testbed gives it another home, an H once its testbed gives
    another: the file was edited since.
    """
    for change in store.controlled():
        clusters = [
            with_control(cluster, change) if cluster.name == change.cluster else cluster
            for cluster in testbed.clusters
        ]
        testbed = replace(testbed, clusters=tuple(clusters))
    for move in store.regrouped():
        home = {worker.name: worker.cluster for worker in testbed.workers}.get(move.worker)
        if home == move.home and any(cluster.index == move.cluster for cluster in testbed.clusters):
            testbed = with_worker_in(testbed, move.worker, move.cluster)
    return testbed


def with_control(cluster: Cluster, change: Controlled) -> Cluster:
    """``cluster`` as changed at run time."""
    threshold = change.threshold if cluster.threshold == change.home else cluster.threshold
    return replace(cluster, threshold=threshold, halted=change.halted)


def index_of(testbed: Testbed, cluster: int | str) -> int:
    """The index of a cluster given by its index or its name. Raises BadInput when there is none."""
    for candidate in testbed.clusters:
        if cluster == candidate.name or str(cluster) == str(candidate.index):
            return candidate.index
    names = ", ".join(candidate.name for candidate in testbed.clusters[:10])
    raise BadInput(Problem(f"there is no cluster {cluster!r}", testbed.name, f"one of: {names}"))


def with_worker_in(testbed: Testbed, worker: str, index: int) -> Testbed:
    """``testbed`` with one worker in the cluster of that index; its replica id stays, and it gets a member
    number that is free there.

    Raises BadInput when there is no such worker.
    """
    found = next((candidate for candidate in testbed.workers if candidate.name == worker), None)
    if found is None:
        raise BadInput(Problem(f"there is no worker {worker!r}", testbed.name, "see olafctl status"))
    others = next(cluster.workers for cluster in testbed.clusters if cluster.index == index)
    taken = {worker.number for worker in others}
    number = found.number if found.cluster == index else min(set(range(len(taken) + 1)) - taken)
    moved = replace(found, cluster=index, number=number)
    clusters = []
    for cluster in testbed.clusters:
        workers = tuple(other for other in cluster.workers if other.name != worker)
        if cluster.index == index:
            workers = tuple(sorted((*workers, moved), key=lambda member: member.member))
        clusters.append(replace(cluster, workers=workers))
    return replace(testbed, clusters=tuple(clusters))
