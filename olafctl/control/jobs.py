"""A running cluster's job: set H, halt and resume it, release or discard partial sums, ask for help (iSwitch,
table 2). What is set lasts: a later deploy of the same testbed keeps it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from olafctl.control import devices, messages
from olafctl.control.deploy import find_running
from olafctl.control.desired import desired
from olafctl.control.locks import CHANGE, held
from olafctl.control.membership import index_of, with_control
from olafctl.control.pipeline import VNP4_2
from olafctl.control.plan import Plan
from olafctl.control.store import Controlled, Store
from olafctl.errors import BadInput, Problem
from olafctl.queue.internals import Command
from olafctl.targets.interface import Registers, Running, device_name
from olafctl.testbed.model import Cluster, Testbed, Worker
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode


@dataclass(frozen=True)
class _Job:
    """A cluster that runs."""

    store: Store
    testbed: Testbed
    running: Running
    cluster: Cluster


def set_threshold(store: Store, cluster: str, threshold: int) -> Plan:
    """Set H of a cluster of mode iswitch; returns the verified changes.

    It applies at once: a partial sum that has as many worker updates already is released. Raises BadInput
    unless 1 ≤ H ≤ its workers, OlafError when nothing runs or a write fails; all stays as it was then.
    """
    with _job(store, cluster) as job:
        _check_rounds(job.cluster)
        most = len(job.cluster.workers)
        if threshold != most and Topology(job.testbed).is_spread(job.cluster):
            what = f"H {threshold}, but the workers of {job.cluster.name} are at several engines"
            raise BadInput(Problem(what, job.testbed.name, f"each of the {most} workers counts in a round"))
        if not 1 <= threshold <= most:
            what = f"H {threshold}, but the cluster {job.cluster.name} has {most} workers"
            raise BadInput(Problem(what, job.testbed.name, f"give 1 … {most}: more would never be reached"))
        return _change(job, threshold, job.cluster.halted)


def set_halted(store: Store, cluster: str, halted: bool) -> Plan:
    """Halt a cluster, or resume it, and tell its workers; returns the verified changes.

    A halted cluster's updates are dropped and counted, and its partial sums stay. Raises OlafError when
    nothing runs or a write fails; all stays as it was then.
    """
    with _job(store, cluster) as job:
        changes = _change(job, job.cluster.threshold, halted)
        _send(job, messages.halt(halted), job.cluster.workers)
        return changes


def release(store: Store, cluster: str, segment: int | None) -> None:
    """Send the partial sum of a segment, or of all, as it is now. Raises BadInput, OlafError."""
    with _job(store, cluster) as job:
        for registers in _from_below(job):
            registers.command(Command.FBCAST, *_indices(job, segment))


def discard(store: Store, cluster: str, segment: int | None) -> None:
    """Discard the partial sum of a segment, or of all, and forget the finished round. Raises BadInput,
    OlafError."""
    with _job(store, cluster) as job:
        for registers in _from_below(job):
            registers.command(Command.RESET, *_indices(job, segment))


def ask_for_help(store: Store, cluster: str, segment: int, round_: int, asker: str) -> tuple[str, ...]:
    """Ask the other members for the result of a round that ``asker`` lacks; returns who was asked.

    Raises BadInput when there is no such segment or member, or no other member.
    """
    with _job(store, cluster) as job:
        _indices(job, segment)
        workers = job.cluster.workers
        found = next((worker for worker in workers if worker.name == asker), None)
        if found is None:
            names = ", ".join(worker.name for worker in workers[:10])
            raise BadInput(
                Problem(f"{asker!r} is not in {job.cluster.name}", job.testbed.name, f"one of: {names}")
            )
        others = tuple(worker for worker in workers if worker is not found)
        if not others:
            raise BadInput(Problem(f"{asker} is alone in {job.cluster.name}", job.testbed.name))
        _send(job, messages.help_wanted(segment, round_, found), others)
        return tuple(worker.name for worker in others)


@contextmanager
def _job(store: Store, cluster: str) -> Iterator[_Job]:
    """The job of the cluster of that name or number, with every other change kept out."""
    with held(store.folder, CHANGE):
        testbed, running = find_running(store)
        index = index_of(testbed, cluster)
        found = next(each for each in testbed.clusters if each.index == index)
        yield _Job(store, testbed, running, found)


def _check_rounds(cluster: Cluster) -> None:
    if cluster.mode is not Mode.ISWITCH:
        what = f"the cluster {cluster.name} is of mode {cluster.mode}"
        raise BadInput(Problem(what, remedy="H and partial sums are of mode iswitch alone"))


def _change(job: _Job, threshold: int, halted: bool) -> Plan:
    """Program a change and remember it; what was programmed is put back when either fails."""
    known = next((c for c in job.store.controlled() if c.cluster == job.cluster.name), None)
    home = known.home if known and known.threshold == job.cluster.threshold else job.cluster.threshold
    change = Controlled(job.cluster.name, home, threshold, halted)
    changed = with_control(
        job.cluster, Controlled(job.cluster.name, job.cluster.threshold, threshold, halted)
    )
    clusters = tuple(changed if each is job.cluster else each for each in job.testbed.clusters)
    with devices.controlling(job.running) as sessions:
        try:
            changes = devices.converge(
                job.running, sessions, desired(replace(job.testbed, clusters=clusters))
            )
            job.store.put_controlled(change)
        except BaseException:
            devices.converge(job.running, sessions, desired(job.testbed))
            raise
    return changes


def _indices(job: _Job, segment: int | None) -> tuple[int, int]:
    """First and last index of one segment, or of all. Raises BadInput when there is no such segment."""
    _check_rounds(job.cluster)
    first, segments = job.cluster.first, job.cluster.segments
    if segment is None:
        return first, first + segments - 1
    if segment >= segments:
        what = f"there is no segment {segment} of {job.cluster.name}"
        raise BadInput(Problem(what, job.testbed.name, f"its model has 0 … {segments - 1}"))
    return first + segment, first + segment


def _from_below(job: _Job) -> Iterator[Registers]:
    """Every engine's queue, each before its parent's: a partial sum of one is part of the other's."""
    yield from reversed([*job.running.queues.values()])


def _send(job: _Job, payload: bytes, members: Iterable[Worker]) -> None:
    """A control message to some members, by packet-out."""
    with devices.controlling(job.running) as sessions:
        topology = Topology(job.testbed)
        used = set()
        for member in members:
            name = device_name(job.testbed, topology.home(member), VNP4_2)
            sent = messages.frame(job.testbed, member, payload)
            sessions[name].packet_out(sent, {"egress_port": member.port})
            used.add(name)
        # The device answers an arbitration after what came before it on the stream: the packets are out.
        for name in used:
            sessions[name].elect(sessions[name].next_election_id)
