"""A periodic check of the devices' state against the membership, while changes go on.

It runs in its own thread, in pieces of about a millisecond with pauses between them, because the threads of
one Python process share one processor. Entities are compared as encoded bytes; only differing ones are
decoded.

An entity that a change wrote since the check began is not a difference, whatever was read: a write carries
the whole entry or group, and the device has acknowledged it.
"""

import logging
import threading
import time
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address
from itertools import chain, islice
from typing import TypeVar

from olafctl.control.desired import desired_state, index_range, of_clusters
from olafctl.control.plan import ChangePlan, QueuePlan, plan_changes
from olafctl.control.state import DeviceState, PipelineState, QueueState, device_state
from olafctl.membership.model import Cluster
from olafctl.queue import settings
from olafctl.queue.settings import Change as SettingsChange
from olafctl.queue.settings import IndexRange
from olafctl.targets.interface import Registers
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.entities import Entity, MulticastGroup, TableEntry
from olafswitch.p4runtime.session import Session

_log = logging.getLogger(__name__)
_PIECE = 32
"""The entities that are encoded or compared without a pause."""
_REST = 3.0
"""The length of a pause as a multiple of the processor time of the piece before it."""
_Item = TypeVar("_Item")


class Check:
    """A comparison of the devices with the membership, see the module."""

    def __init__(
        self,
        sessions: Mapping[str, Session],
        queues: Mapping[str, Registers],
        testbed: Testbed,
        clusters: Iterable[Cluster],
        passing_by: Container[IPv4Address] = (),
    ) -> None:
        """Begin the comparison. ``queues`` are the engines', by name; ``testbed`` is wanted besides
        ``clusters``, which are all clusters now, each made when it is requested. Workers ``passing_by`` are
        known at their own engine alone."""
        self.error: OlafError | None = None
        """The reason why the devices could not be compared."""
        self._sessions = sessions
        self._queues = queues
        self._testbed = testbed
        self._clusters = clusters
        self._passing_by = passing_by
        self._written: set[Hashable] = set()
        self._written_indices: set[int] = set()
        self._missing: dict[str, set[bytes]] = {name: set() for name in sessions}
        """The wanted entities that were not yet found at the device."""
        self._extra: dict[str, list[Entity]] = {name: [] for name in sessions}
        self._of_queues: Mapping[str, QueuePlan] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run_comparison, name=f"check {testbed.name}", daemon=True
        )
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether the comparison has ended, with a result or an error."""
        return not self._thread.is_alive()

    def note_writes(self, changes: ChangePlan, reset: Iterable[tuple[int, int]]) -> None:
        """Note that these changes will be made, and that these ranges of indices will be reset."""
        for step in changes.steps:
            self._written.update((step.device, _key_of_entity(change.entity)) for change in step.changes)
        parts = chain.from_iterable(queue.settings for queue in changes.queues.values())
        for first, last in chain(reset, ((part.first, part.last) for part in parts)):
            self._written_indices.update(range(first, last + 1))

    def find_plan(self) -> ChangePlan:
        """Return the plan that repairs the devices. Call it after the comparison has ended, between
        changes."""
        wanted = {
            name: self._drop_written(name, map(session.decoded, self._missing[name]))
            for name, session in self._sessions.items()
        }
        actual = {name: self._drop_written(name, extra) for name, extra in self._extra.items()}
        queues = {
            engine: QueuePlan(queue.registers, self._unwritten_settings(queue.settings))
            for engine, queue in self._of_queues.items()
        }
        return ChangePlan(plan_changes(PipelineState(actual), PipelineState(wanted)).steps, queues)

    def stop(self) -> None:
        """Stop after the current piece; the sessions may then be closed."""
        self._ended.set()

    def _run_comparison(self) -> None:
        try:
            began = time.thread_time()
            for _ in self._compare_in_pieces():
                if self._ended.wait(_REST * (time.thread_time() - began)):
                    return
                began = time.thread_time()
        except OlafError as error:
            self.error = error
        except Exception as error:
            if not self._ended.is_set():  # after the end, its sessions may be closed
                _log.exception("%s: a defect; the devices were not compared", self._testbed.name)
            self.error = OlafError(Problem(f"cannot compare: {error}", self._testbed.name))

    def _compare_in_pieces(self) -> Iterator[None]:
        """Compare everything, and yield at each step at which a pause may be made."""
        engines, topology = self._testbed.engines, Topology(self._testbed)
        indices: list[list[IndexRange]] = [[] for _ in engines]
        base = desired_state(self._testbed, ())
        yield from self._want_state(base)
        for cluster in self._clusters:
            for engine, parts in zip(engines, indices, strict=True):
                parts.append(index_range(cluster, engine, topology))
            wanted_of = of_clusters([cluster], topology=topology, passing_by=self._passing_by)
            yield from self._want_state(wanted_of)
        for name, session in self._sessions.items():
            for table in session.program.tables.values():
                yield from self._compare_entities(name, session.encoded_entries(table.alias))
            yield from self._compare_entities(name, session.encoded_groups())
        actual, wanted = {}, {}
        for engine, parts in zip(engines, indices, strict=True):
            queue, requested = self._queues[engine.name], base.queues[engine.name].registers
            actual[engine.name] = QueueState({name: queue.read(name) for name in requested}, queue.settings())
            wanted[engine.name] = QueueState(requested, settings.with_default(engine.indices, parts))
        self._of_queues = plan_changes(PipelineState(queues=actual), PipelineState(queues=wanted)).queues

    def _want_state(self, state: PipelineState) -> Iterator[None]:
        for name, device in state.devices.items():
            encode = self._sessions[name].encoded
            entities: Iterable[Entity] = chain(device.entries.values(), device.groups.values())
            for piece in _slice_items(entities, _PIECE):
                self._missing[name].update(map(encode, piece))
                yield

    def _compare_entities(self, name: str, held: Iterable[bytes]) -> Iterator[None]:
        """Remove from both sides the entities that the device holds and should hold; the rest differs."""
        session, missing = self._sessions[name], self._missing[name]
        for piece in _slice_items(held, _PIECE):
            for encoded in piece:
                if encoded in missing:
                    missing.remove(encoded)
                    continue
                # Another device may encode the same entity in another way.
                entity = session.decoded(encoded)
                ours = session.encoded(entity)
                if ours in missing:
                    missing.remove(ours)
                else:
                    self._extra[name].append(entity)
            yield

    def _drop_written(self, name: str, entities: Iterable[Entity]) -> DeviceState:
        return device_state(
            entity
            for entity in entities
            if isinstance(entity, TableEntry | MulticastGroup)
            and (name, _key_of_entity(entity)) not in self._written
        )

    def _unwritten_settings(self, parts: Iterable[SettingsChange]) -> tuple[SettingsChange, ...]:
        return tuple(
            SettingsChange(index, index, part.before, part.after)
            for part in parts
            for index in range(part.first, part.last + 1)
            if index not in self._written_indices
        )


def _key_of_entity(entity: Entity) -> Hashable:
    """Return the key that identifies an entity in its device."""
    return entity.key if isinstance(entity, TableEntry) else str(entity)


def _slice_items(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece
