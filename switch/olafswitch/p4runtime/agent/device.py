"""One P4Runtime device: its pipeline, its forwarding state, and the lock that orders all changes."""

import logging
import threading
from collections.abc import Sequence
from typing import Any

from olafswitch.p4runtime import limits
from olafswitch.p4runtime.agent import snapshot
from olafswitch.p4runtime.agent.arbitration import Arbitration
from olafswitch.p4runtime.agent.notifications import (
    Alarm,
    DigestLists,
    encode_notifications,
    packet_in_message,
    packet_out_frame,
)
from olafswitch.p4runtime.agent.read import Selection, select_entities
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found, not_implemented
from olafswitch.p4runtime.agent.snapshot import SavedPlane
from olafswitch.p4runtime.agent.state import Forwarding, Undo
from olafswitch.p4runtime.agent.write_tables import apply_update, plain_update
from olafswitch.p4runtime.dataplane import DataPlane, DeviceRefused, P4Info, PipelineRefused
from olafswitch.p4runtime.limits import Budget, TooMany
from olafswitch.p4runtime.program import InvalidP4Info, ProgramInfo
from olafswitch.p4runtime.protocol import number_of, p4runtime_pb2

_log = logging.getLogger(__name__)
_Action = p4runtime_pb2.SetForwardingPipelineConfigRequest
_BUILDING = (
    _Action.VERIFY, _Action.VERIFY_AND_SAVE, _Action.VERIFY_AND_COMMIT, _Action.RECONCILE_AND_COMMIT,
)  # fmt: skip
_Write = p4runtime_pb2.WriteRequest

Outcome = Refusal | None
"""The result for one element of a batch: refused, or None for OK."""


class AgentDevice:
    """A device: it drives one data plane. Every method that serves a call raises Refusal.

    A pipeline is built under its own lock, because that takes long; the old pipeline forwards meanwhile.
    """

    def __init__(self, device_id: int, plane: DataPlane, *, as_bmv2: bool = False) -> None:
        self.id = device_id
        self.plane = plane
        self.arbitration = Arbitration(device_id, self._finish_writes, as_bmv2=as_bmv2)
        self._digests = DigestLists(self._to_primaries)
        self._idle = Alarm(self._report_idle)
        self._lock = threading.RLock()
        self._building = threading.Lock()
        self._running: Forwarding | None = None
        self._saved: Forwarding | None = None
        self._pipelines: dict[Forwarding, Any] = {}
        plane.on_packet_in(self._packet_in)
        plane.on_digest(self._receive_digest)

    def close(self) -> None:
        self._digests.close()
        self._idle.close()

    def load_pipeline(self, p4info: P4Info, device_config: bytes) -> None:
        """Commit a pipeline without a controller. Raises Refusal."""
        request = _Action()
        request.config.p4info.CopyFrom(p4info)
        request.config.p4_device_config = device_config
        with self._building:
            forwarding, pipeline = self._build_pipeline(request)
            with self._lock:
                self._commit_pipeline(forwarding, pipeline, None)

    def write_updates(self, request: Any, role: str) -> list[Outcome]:
        """Apply a WriteRequest, and return once no packet that saw the old state is in the pipeline."""
        election_id = _election_id(request)
        self.arbitration.check_primary(role, election_id)
        if len(request.updates) > limits.WRITE_UPDATES:
            most = f"a WriteRequest has at most {limits.WRITE_UPDATES} updates; divide it"
            raise Refusal(Code.RESOURCE_EXHAUSTED, most)
        updates = [plain_update(each) for each in request.updates]
        with self._lock:
            # Another controller may have become primary meanwhile.
            self.arbitration.check_primary(role, election_id)
            forwarding = self._current_forwarding()
            undo_all = _undo_all(request.atomicity, len(updates))
            outcomes = _apply_updates(forwarding, updates, undo_all)
            try:
                forwarding.plane.quiesce()
            except DeviceRefused as error:
                raise Refusal(Code[error.code], str(error)) from None
            if forwarding is self._running:
                self._idle.set_time(forwarding.idle.next_check())
            return outcomes

    def read_entities(self, entities: Sequence[Any]) -> tuple[list[Selection], list[Outcome]]:
        """Return what a batch selects, from one state of the device, and the outcome of each of its
        requests."""
        selections: list[Selection] = []
        outcomes: list[Outcome] = []
        budget = Budget(limits.READ_ENTITIES)
        with self._lock:
            forwarding = self._current_forwarding()
            for entity in entities:
                try:
                    selections.append(select_entities(forwarding, entity, budget))
                    outcomes.append(None)
                except TooMany:
                    most = f"a ReadRequest goes through at most {limits.READ_ENTITIES} entities; divide it"
                    raise Refusal(Code.RESOURCE_EXHAUSTED, most) from None
                except Refusal as refusal:
                    outcomes.append(refusal)
        return selections, outcomes

    def set_pipeline(self, request: Any, role: str) -> None:
        """Handle a SetForwardingPipelineConfigRequest (P4Runtime §14)."""
        election_id = _election_id(request)
        self.arbitration.check_primary(role, election_id)
        with self._building:
            # Another controller may have become primary meanwhile.
            self.arbitration.check_primary(role, election_id)
            if request.action == _Action.COMMIT:
                if request.HasField("config"):
                    raise invalid_argument("a COMMIT takes no pipeline: it commits the saved one")
                with self._lock:
                    self._commit_saved()
                return
            if request.action not in _BUILDING:
                raise invalid_argument(f"action {request.action} is not one of P4Runtime's")
            forwarding, pipeline = self._build_pipeline(request)
            with self._lock:
                # Another controller may have become primary during the build.
                self.arbitration.check_primary(role, election_id)
                if request.action == _Action.VERIFY_AND_SAVE:
                    self._saved = forwarding
                    self._pipelines[forwarding] = pipeline
                elif request.action == _Action.VERIFY_AND_COMMIT:
                    self._commit_pipeline(forwarding, pipeline, None)
                elif request.action == _Action.RECONCILE_AND_COMMIT:
                    self._reconcile_pipeline(forwarding, pipeline)

    def get_pipeline(self, response_type: int) -> Any:
        """Return a GetForwardingPipelineConfigResponse with the fields that the type asks for."""
        response = p4runtime_pb2.GetForwardingPipelineConfigResponse()
        kinds = p4runtime_pb2.GetForwardingPipelineConfigRequest
        with self._lock:
            forwarding = self._saved or self._running
        if forwarding is None:
            return response
        config = forwarding.config
        response.config.SetInParent()
        if config.HasField("cookie"):
            response.config.cookie.CopyFrom(config.cookie)
        if response_type in (kinds.ALL, kinds.P4INFO_AND_COOKIE):
            response.config.p4info.CopyFrom(config.p4info)
        if response_type in (kinds.ALL, kinds.DEVICE_CONFIG_AND_COOKIE):
            response.config.p4_device_config = config.p4_device_config
        return response

    def packet_out(self, packet: Any) -> None:
        """Inject a ``p4.v1.PacketOut``."""
        with self._lock:
            if self._running is None:
                raise Refusal(Code.FAILED_PRECONDITION, "the device has no pipeline")
            frame = packet_out_frame(self._running.program.packet_out, packet)
            try:
                self.plane.packet_out(frame)
            except ValueError as error:
                raise invalid_argument(str(error)) from None

    def acknowledge_digest(self, digest_id: int, list_id: int) -> None:
        with self._lock:
            running = self._running
        if running is None or digest_id not in running.program.digests:
            raise invalid_argument(f"the program has no digest {digest_id:#x}")
        self._digests.acknowledge_list(digest_id, list_id)

    def _current_forwarding(self) -> Forwarding:
        forwarding = self._saved or self._running
        if forwarding is None:
            raise Refusal(Code.FAILED_PRECONDITION, "the device has no pipeline")
        return forwarding

    def _build_pipeline(self, request: Any) -> tuple[Forwarding, Any]:
        """Return the pipeline of a request, and its forwarding state without the device."""
        if not request.HasField("config") or not request.config.HasField("p4info"):
            raise invalid_argument("the pipeline's P4Info is missing")
        try:
            program = ProgramInfo(request.config.p4info)
            pipeline = self.plane.prepare(request.config.p4info, request.config.p4_device_config)
        except (InvalidP4Info, PipelineRefused) as error:
            raise invalid_argument(str(error)) from None
        except Exception as error:
            _log.exception("building a pipeline failed")
            raise Refusal(Code.INTERNAL, f"building the pipeline failed: {error}") from error
        forwarding = Forwarding(program, request.config, SavedPlane(program, self.plane.replication))
        forwarding.add_initial_entries(self.plane.initial_entries(pipeline))
        return forwarding, pipeline

    def _commit_saved(self) -> None:
        if self._saved is None:
            raise not_found("no pipeline was saved to commit")
        saved, pipeline = self._saved, self._pipelines[self._saved]
        self._commit_pipeline(saved, pipeline, snapshot.take_snapshot(saved))

    def _reconcile_pipeline(self, wanted: Forwarding, pipeline: Any) -> None:
        """Commit the pipeline and keep the state; change nothing if the new program cannot hold all of it."""
        updates = snapshot.take_snapshot(self._running) if self._running else []
        try:
            snapshot.restore_snapshot(wanted, updates)
        except Refusal as refusal:
            raise invalid_argument(f"the forwarding state cannot be kept: {refusal.message}") from None
        self._commit_pipeline(wanted, pipeline, updates)

    def _commit_pipeline(self, like: Forwarding, pipeline: Any, updates: list[Any] | None) -> None:
        """Run ``pipeline`` with the state that ``updates`` make, or with the program's own state.

        On failure the old pipeline runs again, with its state; if it cannot, the device has no pipeline.
        """
        before = self._running
        kept = snapshot.take_snapshot(before) if before else []
        try:
            self._run_pipeline(like, pipeline, updates)
        except Exception as error:
            _log.exception("committing a pipeline failed")
            if before:
                self._run_again(before, kept, error)
            raise Refusal(Code.INTERNAL, f"the pipeline cannot run: {error}") from error

    def _run_again(self, before: Forwarding, kept: list[Any], failed: Exception) -> None:
        try:
            self._run_pipeline(before, self._pipelines[before], kept)
        except Exception as error:
            _log.exception("going back to the pipeline before failed")
            self._running, self._saved, self._pipelines = None, None, {}
            both = f"the pipeline cannot run: {failed}; nor can the one before: {error}"
            raise Refusal(Code.INTERNAL, both) from error

    def _run_pipeline(self, like: Forwarding, pipeline: Any, updates: list[Any] | None) -> None:
        forwarding = Forwarding(like.program, like.config, self.plane)
        forwarding.add_initial_entries(self.plane.initial_entries(pipeline))
        self.plane.commit(pipeline)
        if updates is not None:
            snapshot.restore_snapshot(forwarding, updates)
        self.plane.quiesce()
        self._running, self._saved = forwarding, None
        self._pipelines = {forwarding: pipeline}
        self._digests.run_under(forwarding)
        self._idle.set_time(forwarding.idle.next_check())

    def _finish_writes(self) -> None:
        with self._lock:
            pass

    def _packet_in(self, frame: bytes) -> None:
        running = self._running
        if running is not None:
            message = packet_in_message(running.program.packet_in, frame)
            if message is not None:
                self._to_primaries(message)

    def _receive_digest(self, digest_id: int, fields: Sequence[bytes]) -> None:
        try:
            self._digests.add_digest(digest_id, fields)
        except Exception:
            _log.exception("digest %#x dropped", digest_id)

    def _report_idle(self) -> None:
        try:
            with self._lock:
                assert self._running is not None
                watch = self._running.idle
                expired = watch.find_expired(self.plane)
                self._idle.set_time(watch.next_check())
            for message in encode_notifications(expired):
                self._to_primaries(message)
        except Exception:
            _log.exception("looking for idle entries failed")

    def _to_primaries(self, message: bytes) -> None:
        for controller in self.arbitration.primaries():
            controller.offer(message)


def _election_id(request: Any) -> int | None:
    return number_of(request.election_id) if request.HasField("election_id") else None


def _undo_all(atomicity: int, updates: int) -> bool:
    """Return whether one refused update undoes its whole batch. Raises Refusal."""
    match atomicity:
        case _Write.CONTINUE_ON_ERROR:
            return False
        case _Write.ROLLBACK_ON_ERROR:
            return True
        case _Write.DATAPLANE_ATOMIC if updates <= 1:
            return False
        case _Write.DATAPLANE_ATOMIC:
            raise not_implemented("this device applies one update at a time: no atomic batches")
        case _:
            raise invalid_argument(f"atomicity {atomicity} is not one of P4Runtime's")


def _apply_updates(forwarding: Forwarding, updates: Sequence[Any], undo_all: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    undos: list[Undo] = []
    for update in updates:
        try:
            undo = apply_update(forwarding, update)
            if undo_all:
                undos.append(undo)
            outcomes.append(None)
        except Refusal as refusal:
            outcomes.append(refusal)
            if undo_all:
                break
    if undo_all and len(undos) < len(updates):
        for undo in reversed(undos):
            undo()
        culprit = len(undos)
        why = Refusal(Code.ABORTED, f"rolled back because update {culprit} was refused")
        refused = outcomes[culprit]
        outcomes = [refused if place == culprit else why for place in range(len(updates))]
    return outcomes
