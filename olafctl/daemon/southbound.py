"""The devices of one deployment, kept equal to its membership.

The devices' state is read once, when the daemon takes them over; from then on it is known, because every
write is this session's. A write that fails and a stream that ends make it unknown again: then it is read,
compared and repaired before the next change. A timer starts comparisons while changes go on.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import islice

from olafctl.control import devices, shards
from olafctl.control.desired import desired_state, index_range, of_clusters
from olafctl.control.pipeline import ASSIGN, REFUSALS, VNP4_1, VNP4_2, WORKERS
from olafctl.control.plan import ChangePlan, QueuePlan, plan_changes
from olafctl.control.state import PipelineState
from olafctl.daemon.checking import Check
from olafctl.daemon.leadership import Leadership
from olafctl.daemon.settling import Settling
from olafctl.daemon.site import Site
from olafctl.membership.model import Cluster
from olafctl.queue import settings
from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import Change as SettingsChange
from olafctl.targets.interface import Registers, Running, device_name, of_root
from olafctl.testbed.model import TestbedEngine
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import Refusal
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.entities import Exact, Match, PacketIn
from olafswitch.p4runtime.session import Session

_log = logging.getLogger(__name__)
_SHOWN = 20


class Southbound:
    """The devices of one deployment. One thread at a time may change them; any may send packets."""

    def __init__(self, site: Site, leadership: Leadership) -> None:
        self._site = site
        self._topology = Topology(site.testbed)
        self._leadership = leadership
        self._settling = Settling(site.testbed)
        hosts = (*site.testbed.parameter_servers, *site.testbed.hosts)
        self._macs = {host.mac for host in hosts}
        """The MAC addresses of hosts that are not members."""
        self._open = ExitStack()
        self._running: Running | None = None
        self._sessions: Mapping[str, Session] = {}
        self._equal = False
        self._check: Check | None = None
        self.repaired: deque[tuple[float, str]] = deque(maxlen=_SHOWN)
        """The latest repairs, with the time in s since the epoch."""

    @property
    def ready(self) -> bool:
        """Whether the devices answer and are known to be equal to the membership."""
        return self._equal and all(
            session.alive and session.is_primary for session in self._sessions.values()
        )

    def reconcile(self, clusters: Sequence[Cluster]) -> ChangePlan:
        """Make the devices equal to these clusters, whatever their state; return the changes.

        Raises OlafError when they cannot be reached or refuse.
        """
        self._equal = False
        self._end_check()
        running = self._connect_devices(clusters)
        self._check_answers()
        pushed = devices.push_pipelines(running, self._sessions)
        wanted = desired_state(self._site.testbed, clusters)
        changes = devices.converge_state(running, self._sessions, wanted)
        shards.balance_shards(running, self._site.testbed, clusters)
        self._settling.clear()
        self._equal = True
        for name in pushed:
            _log.info("%s: pushed the pipeline of %s", self._site.testbed.name, name)
        self._log_changes(changes)
        return changes

    def apply_change(
        self, before: Sequence[Cluster], after: Sequence[Cluster], macs: Mapping[str, int]
    ) -> None:
        """Take the devices from the clusters ``before`` to those ``after``, in an order in which no frame is
        lost; ``macs`` is how many members of all clusters have each MAC address now.

        Nothing is read. Raises OlafError; then the devices' state is unknown until :meth:`reconcile`.
        """
        self._check_answers()
        stays = _unchanged_replicas(before, after)
        bridged = self._changed_bridges(before, after, stays, macs)
        leaving = self._settling.find_leaving(before, after)
        held = self._rows_of(before, stays, bridged)
        if any(worker.ip in leaving for cluster in after for worker in cluster.workers):
            # The engines above forget them first, so that none counts an update for the wrong cluster.
            self._settling.begin_settling(leaving)
            known, held = held, self._rows_of(before, stays, bridged)
            self._carry_out(plan_changes(known, held))
        rows = plan_changes(held, self._rows_of(after, stays, bridged))
        queues = {
            engine.name: QueuePlan(settings=tuple(self._changed_settings(before, after, engine)))
            for engine in self._site.testbed.engines
        }
        changes = replace(rows, queues=queues)
        gone = set(map(_span_of, before)) - set(map(_span_of, after))
        self._carry_out(changes, gone)
        # Updates that wait now were sent before.
        self._settling.begin_settling(leaving)

    def _rows_of(
        self, clusters: Sequence[Cluster], without: Container[int], bridged: Container[str] = ()
    ) -> PipelineState:
        passing_by = self._settling.addresses
        return of_clusters(clusters, without, topology=self._topology, passing_by=passing_by, bridged=bridged)

    def _changed_bridges(
        self,
        before: Sequence[Cluster],
        after: Sequence[Cluster],
        stays: Container[int],
        macs: Mapping[str, int],
    ) -> set[str]:
        """Return the MAC addresses of changed workers that unchanged workers have, too."""
        now = Counter(each.mac for cluster in after for each in cluster.workers if each.replica not in stays)
        was = {each.mac for cluster in before for each in cluster.workers if each.replica not in stays}
        return {mac for mac in now.keys() | was if mac in self._macs or macs.get(mac, 0) > now[mac]}

    def _carry_out(self, changes: ChangePlan, gone: Collection[tuple[int, int]] = ()) -> None:
        """Make changes, and reset the settings of the indices that are ``gone``."""
        assert self._running is not None
        if self._check is not None:
            self._check.note_writes(changes, gone)
        self._equal = False
        devices.carry_out(changes, self._running, self._sessions)
        for registers in self._find_queues().values():
            for first, last in gone:
                registers.configure(first, last, IndexSettings())
        self._equal = True

    @property
    def has_unsettled(self) -> bool:
        """Whether some engines do not know all members yet."""
        return bool(self._settling.addresses)

    def settle_workers(self, cluster_of: Callable[[IPv4Address], Cluster | None]) -> None:
        """Make the workers whose updates for an old cluster have passed known to all engines.

        ``cluster_of`` gives the present cluster of an address, or None. Raises OlafError; then the devices'
        state is unknown until :meth:`reconcile`.
        """
        if not self._settling.due:
            return
        for address in self._settling.take_passed(self.queue_registers()):
            cluster = cluster_of(address)
            if cluster is not None:
                others = {worker.replica for worker in cluster.workers if worker.ip != address}
                known = of_clusters([cluster], others, topology=self._topology, passing_by={address})
                self._carry_out(plan_changes(known, self._rows_of([cluster], others)))

    def _changed_settings(
        self, before: Sequence[Cluster], after: Sequence[Cluster], engine: TestbedEngine
    ) -> Iterator[SettingsChange]:
        """Yield the settings of one engine's queue that change, without those of ranges that are gone."""
        old = {_span_of(each): index_range(each, engine, self._topology) for each in before}
        for cluster in after:
            known = old.get(_span_of(cluster))
            wanted = index_range(cluster, engine, self._topology)
            yield from settings.find_changes((known,) if known else (), (wanted,))

    @property
    def is_checking(self) -> bool:
        """Whether a check was begun and its result not processed."""
        return self._check is not None

    def begin_check(self, clusters: Iterable[Cluster]) -> None:
        """Compare the devices with these clusters, each made when it is requested, while changes go on;
        :meth:`finish_check` repairs."""
        assert self._running is not None
        testbed = self._site.testbed
        self._check = Check(self._sessions, self._find_queues(), testbed, clusters, self._settling.addresses)

    def finish_check(self) -> ChangePlan:
        """Repair the findings of a check, once it is over; return the changes.

        Raises OlafError when the devices cannot be read or refuse; then their state is unknown until
        :meth:`reconcile`.
        """
        check = self._check
        if check is None or not check.has_ended:
            return ChangePlan()
        assert self._running is not None
        self._check = None
        self._equal = False
        if check.error is not None:
            raise check.error
        changes = check.find_plan()
        devices.carry_out(changes, self._running, self._sessions)
        self._equal = True
        self._log_changes(changes)
        return changes

    def send_command(self, command: Command, first: int, last: int) -> None:
        """Send FBCAST or RESET to every queue, each before its parent's: a partial sum of one is part of the
        other's. Raises OlafError."""
        for registers in reversed([*self._find_queues().values()]):
            registers.command(command, first, last)

    def queue_registers(self) -> dict[str, dict[str, int]]:
        """Return all registers of each engine's queue at one instant, by the engine's name, the root's first.

        Raises OlafError.
        """
        return {name: registers.read_all() for name, registers in self._find_queues().items()}

    def receive_packets(self, engine: str, timeout: float) -> Iterator[PacketIn]:
        """Yield control messages from an engine's VNP4₁, until ``timeout`` seconds bring none."""
        session = self._sessions.get(self._device_of(engine, VNP4_1))
        if session is not None and session.alive:
            yield from session.packets(timeout)

    def send_frame(self, port: int, frame: bytes) -> None:
        """Send a frame out of a front port; it is lost when the devices cannot be reached, as on any wire."""
        session = self._sessions.get(self._device_of(self._topology.engine_at[port], VNP4_2))
        if session is not None and session.alive:
            session.packet_out(frame, {"egress_port": port})

    def flush_frames(self) -> None:
        """Wait until every frame that was sent is out. Raises OlafError."""
        for engine in self._site.testbed.engines:
            session = self._sessions.get(self._device_of(engine.name, VNP4_2))
            if session is not None and session.alive:
                # A device answers an arbitration after the messages before it on the stream.
                session.elect(session.next_election_id)

    def port_counters(self) -> dict[int, dict[str, int]]:
        """Return frames and bytes each way, by port, with links between engines. Raises OlafError."""
        if self._running is None:
            raise self._unreached_error()
        return {int(number): counted for number, counted in self._running.stats().get("ports", {}).items()}

    def read_carriers(self) -> dict[int, bool]:
        """Return whether the cable of each front port is up, where that is known. Raises OlafError."""
        if self._running is None:
            raise self._unreached_error()
        return {int(number): up for number, up in self._running.stats().get("carriers", {}).items()}

    def frames_seen(self) -> dict[int, int]:
        """Return how many frames VNP4₁ counted for each member, by its IPv4 address, summed over the engines.
        Raises OlafError."""
        seen: Counter[int] = Counter()
        for engine in self._site.testbed.engines:
            session = self._sessions.get(self._device_of(engine.name, VNP4_1))
            if session is None:
                raise self._unreached_error()
            for entry, count in session.direct_counters(WORKERS).items():
                if entry.action != ASSIGN:
                    continue
                seen[_exact_value(entry.match["worker_addr"])] += count.packets
        return seen

    def frames_refused(self) -> dict[str, dict[Refusal, int]]:
        """Return how many frames each engine's VNP4₁ refused, by reason. Raises OlafError."""
        refused = {}
        for engine in self._site.testbed.engines:
            session = self._sessions.get(self._device_of(engine.name, VNP4_1))
            counted = session.direct_counters(REFUSALS) if session is not None and session.alive else {}
            refused[engine.name] = {
                Refusal(_exact_value(entry.match["reason"])): count.packets
                for entry, count in counted.items()
            }
        return refused

    def close(self) -> None:
        """End the sessions; the devices' state stays."""
        self._equal = False
        self._settling.clear()
        self._end_check()
        self._open.close()
        self._sessions = {}
        self._running = None

    def _device_of(self, engine: str, block: str) -> str:
        return device_name(self._site.testbed, engine, block)

    def _find_queues(self) -> Mapping[str, Registers]:
        """Return each engine's queue by the engine's name, each behind its parent's. Raises OlafError."""
        running = self._running
        if running is None:
            raise self._unreached_error()
        return running.queues

    def _unreached_error(self) -> OlafError:
        return OlafError(Problem("its devices are not reached", self._site.testbed.name))

    def _check_answers(self) -> None:
        """Raise OlafError at once where the engine is stopped: calls to its devices would time out."""
        of_root(self._find_queues()).read("occupancy")

    def _end_check(self) -> None:
        if self._check is not None:
            self._check.stop()
            self._check = None

    def _connect_devices(self, clusters: Sequence[Cluster]) -> Running:
        if self._running is not None and all(
            session.alive and session.is_primary for session in self._sessions.values()
        ):
            return self._running
        self.close()
        leadership = self._leadership
        leadership.check()
        running = self._site.running()
        if running is None:
            running = self._site.start(clusters)
            self.repaired.append((time.time(), "started again: it did not run"))
        self._sessions = self._open.enter_context(
            devices.control_devices(
                running,
                take_over=leadership.takes_over,
                election_id=leadership.election_id,
                permit=leadership.check,
            )
        )
        self._running = running
        return running

    def _log_changes(self, changes: ChangePlan) -> None:
        lines = [*islice(changes.lines(), _SHOWN)]
        if changes.size > _SHOWN:
            lines.append(f"and {changes.size - _SHOWN} more changes")
        for line in lines:
            self.repaired.append((time.time(), line))
            _log.info("%s: %s", self._site.testbed.name, line)


def _exact_value(match: Match | int) -> int:
    assert isinstance(match, Exact)
    return match.value


def _span_of(cluster: Cluster) -> tuple[int, int]:
    """Return a cluster's first and last index."""
    return cluster.first, cluster.last


def _unchanged_replicas(before: Sequence[Cluster], after: Sequence[Cluster]) -> set[int]:
    """Return the replica ids of the workers whose entries are the same before and after."""
    old = {cluster.number: cluster for cluster in before}
    stays: set[int] = set()
    for cluster in after:
        was = old.get(cluster.number)
        if was is None or _numbers_of(was) != _numbers_of(cluster):
            continue
        workers = {worker.replica: worker for worker in was.workers}
        stays.update(worker.replica for worker in cluster.workers if workers.get(worker.replica) == worker)
    return stays


def _numbers_of(cluster: Cluster) -> tuple[int, int, int]:
    """Return the values of a cluster that its workers' entries contain."""
    return cluster.first, cluster.segments, cluster.epoch
