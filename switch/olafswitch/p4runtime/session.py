"""A controller's session with one P4Runtime device, in the program's own names.

Works with Olaf's agent and with BMv2's simple_switch_grpc.

    with Session.connect("127.0.0.1:9559", device_id=1, election_id=1, name="vnp4_1") as session:
        session.push(p4info, config)
        session.insert(TableEntry("workers", {"worker_addr": 1}, "assign", {"cluster": 1, "worker": 7}))
        assert session.entries("workers") == {...}
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf import text_format

from olafswitch.errors import BadInput, Problem
from olafswitch.p4runtime import bytestrings, messages
from olafswitch.p4runtime.address import Access
from olafswitch.p4runtime.client import StreamClient, StreamEnded
from olafswitch.p4runtime.dataplane import Key, MeterConfig, P4Info
from olafswitch.p4runtime.entities import (
    CounterData,
    DigestMessage,
    Entity,
    PacketIn,
)
from olafswitch.p4runtime.failures import Failure, NotPrimary, P4RuntimeFailed, WriteFailed, failure_details
from olafswitch.p4runtime.program import ProgramInfo
from olafswitch.p4runtime.protocol import p4info_pb2, p4runtime_pb2, uint128_fields
from olafswitch.p4runtime.reader import Reader
from olafswitch.p4runtime.values import put_value_set

_BATCH = 1000
_ELECTIONS = 3  # attempts, when other controllers bid at the same time
_PUSH_TIMEOUT = 300.0  # a twin compiles the program first
_Election = TypeVar("_Election", int, int | None)


class Change(Enum):
    """What an update does to its entity."""

    INSERT = p4runtime_pb2.Update.INSERT
    MODIFY = p4runtime_pb2.Update.MODIFY
    DELETE = p4runtime_pb2.Update.DELETE


class PushAction(Enum):
    """What a push does with the pipeline (P4Runtime §14)."""

    VERIFY = p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY
    VERIFY_AND_SAVE = p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_SAVE
    VERIFY_AND_COMMIT = p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
    COMMIT = p4runtime_pb2.SetForwardingPipelineConfigRequest.COMMIT
    RECONCILE_AND_COMMIT = p4runtime_pb2.SetForwardingPipelineConfigRequest.RECONCILE_AND_COMMIT


@dataclass(frozen=True)
class EntityUpdate:
    change: Change
    entity: Entity

    def __str__(self) -> str:
        return f"{self.change.name.lower()} {self.entity}"


class Session(Reader):
    """A controller's session, see the module. A method that talks to the switch raises P4RuntimeFailed."""

    permit: Callable[[], None] | None = None
    """A function called before every request that changes the switch; may raise an OlafError."""

    @classmethod
    def connect(
        cls,
        address: str,
        device_id: int,
        *,
        election_id: int | None = 1,
        name: str = "",
        timeout: float = 10.0,
        role: str = "",
        access: Access | None = None,
    ) -> "Session":
        """Open the stream and arbitrate; ``address`` is host:port (through TLS with ``access``) or unix:path.

        ``election_id`` has up to 128 bits; None asks for a backup that never becomes primary.
        :attr:`is_primary` tells whether this session is primary, among those of its ``role``. ``timeout`` in
        seconds bounds every call.
        """
        name = name or f"device {device_id}"
        where = f"{name} at {address}"
        try:
            client = StreamClient(device_id, address, _fit_election_id(election_id), timeout, role, access)
        except StreamEnded as error:
            raise P4RuntimeFailed(where, error.code, error.message, "connecting") from None
        return cls(client, where)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stream, and return when the switch has released the election id.

        This waits for the session's timeout at most.
        """
        self._client.tear_down()

    @property
    def is_primary(self) -> bool:
        """Whether the switch's newest arbitration message named this session primary."""
        return self._client.is_primary

    @property
    def alive(self) -> bool:
        """Whether the stream is open."""
        return self._client.ended is None

    @property
    def election_id(self) -> int:
        return self._client.election_id

    def elect(self, election_id: int) -> bool:
        """Arbitrate again with another election id; returns whether this session is now primary."""
        try:
            self._client.elect(_fit_election_id(election_id))
        except StreamEnded as error:
            raise P4RuntimeFailed(self.name, error.code, error.message, "arbitrating") from None
        return self.is_primary

    def become_primary(self, *, take_over: bool = False) -> None:
        """Become primary, if need be with an election id above the highest that the switch has seen.

        While another controller is primary this raises NotPrimary, unless ``take_over``.
        """
        for _ in range(_ELECTIONS):
            if self.is_primary:
                return
            if self._client.primary is not None and not take_over:
                break
            self.elect(self.next_election_id)
        if not self.is_primary:
            raise NotPrimary(self.name, self.highest_election_id, self._client.primary or "")

    @property
    def highest_election_id(self) -> int:
        """The highest election id that the switch has seen (P4Runtime §5.4)."""
        return self._client.highest_election_id

    @property
    def next_election_id(self) -> int:
        """The lowest election id that makes a controller primary at once."""
        return min(self.highest_election_id + 1, (1 << 128) - 1)

    def wait_for_primary(self, primary: bool = True, timeout: float | None = None) -> bool:
        """Wait until this session is (or, with False, is no longer) primary; False after ``timeout`` s."""
        client = self._client
        with client.changed:
            client.changed.wait_for(lambda: client.is_primary == primary or client.ended, timeout)
        return self.is_primary == primary

    def api_version(self) -> str:
        """Return the switch's P4Runtime version, as 1.4.1."""
        ask, request = self._client.stub.Capabilities, p4runtime_pb2.CapabilitiesRequest()
        return str(self._call_switch("asking for its version", ask, request).p4runtime_api_version)

    # Pipeline

    def push(
        self,
        p4info: P4Info | Path,
        config: bytes | Path,
        *,
        action: PushAction = PushAction.VERIFY_AND_COMMIT,
        cookie: int | None = None,
    ) -> None:
        """Give the switch a pipeline: the P4Info (a message or its text file) and the device config."""
        info = p4info if isinstance(p4info, p4info_pb2.P4Info) else _p4info_file(p4info)
        program = self._index_program(info)
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=self.device_id, action=action.value, election_id=uint128_fields(self.election_id)
        )
        if action is not PushAction.COMMIT:
            request.config.p4info.CopyFrom(info)
            request.config.p4_device_config = config.read_bytes() if isinstance(config, Path) else config
            if cookie is not None:
                request.config.cookie.cookie = cookie
        push = self._client.stub.SetForwardingPipelineConfig
        self._ask_permit()
        self._call_switch("setting its pipeline", push, request, timeout=_PUSH_TIMEOUT)
        if action is not PushAction.VERIFY:
            self._program = program

    def cookie(self) -> int | None:
        """Return the cookie of the switch's pipeline; None when it has no pipeline or no cookie."""
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        try:
            answer = self._call_switch(
                "reading its cookie", self._client.stub.GetForwardingPipelineConfig, request
            )
        except P4RuntimeFailed as error:
            if error.code == "FAILED_PRECONDITION":  # BMv2's answer when it has no pipeline
                return None
            raise
        return int(answer.config.cookie.cookie) if answer.config.HasField("cookie") else None

    # Writes

    def insert(self, *entities: Entity) -> None:
        self.write(EntityUpdate(Change.INSERT, entity) for entity in entities)

    def modify(self, *entities: Entity) -> None:
        self.write(EntityUpdate(Change.MODIFY, entity) for entity in entities)

    def delete(self, *entities: Entity) -> None:
        self.write(EntityUpdate(Change.DELETE, entity) for entity in entities)

    def write(self, updates: Iterable[EntityUpdate], *, rollback: bool = False) -> None:
        """Send updates in order, 1000 in a request.

        Without ``rollback`` every update is tried and WriteFailed lists the refused ones; with it the
        updates go in one request and either all are applied or none. A name or value that does not fit
        the program raises BadInput and nothing is sent.
        """
        wanted = list(updates)
        program = self.program
        size = len(wanted) if rollback else _BATCH
        batches = [wanted[start : start + size] for start in range(0, len(wanted), max(size, 1))]
        requests = [self._make_request(program, batch) for batch in batches]
        failures: list[Failure] = []
        for number, (batch, request) in enumerate(zip(batches, requests, strict=True)):
            self._ask_permit()
            try:
                self._client.write(request, rollback)
            except grpc.RpcError as error:
                failures += self._read_failures(error, batch, number * size)
        if failures:
            raise WriteFailed(self.name, failures)

    def set_register(self, name: str, indices: Iterable[int], value: int) -> None:
        """Set cells of a register of plain integers. Raises BadInput for a name that the program lacks."""
        register_id = self._resolve_name(self.program.register_named, name)
        cell = {"register_id": register_id, "data": {"bitstring": bytestrings.encode_unsigned(value)}}
        self._set_cells("register_entry", cell, list(indices))

    def set_counter(self, name: str, indices: Iterable[int], value: CounterData) -> None:
        """Set cells of an indirect counter. Raises BadInput for a name that the program lacks."""
        counter_id = self._resolve_name(self.program.counter_named, name)
        data = {"packet_count": value.packets, "byte_count": value.bytes}
        self._set_cells("counter_entry", {"counter_id": counter_id, "data": data}, list(indices))

    def set_meter(self, name: str, indices: Iterable[int], config: MeterConfig) -> None:
        """Set cells of an indirect meter. Raises BadInput for a name that the program lacks."""
        meter_id = self._resolve_name(self.program.meter_named, name)
        self._set_cells("meter_entry", {"meter_id": meter_id, "config": vars(config)}, list(indices))

    def set_value_set(self, name: str, members: Iterable[Key]) -> None:
        """Set all members of a value set, each with a match for every field.

        Raises BadInput for a name that the program lacks.
        """
        value_set_id = self._resolve_name(self.program.value_set_named, name)
        entity = p4runtime_pb2.Entity()
        put_value_set(entity.value_set_entry, self.program.value_sets[value_set_id], members)
        self._write_all(Change.MODIFY, [entity], "writing")

    def _set_cells(self, kind: str, cell: dict[str, Any], indices: Sequence[int]) -> None:
        for start in range(0, len(indices), _BATCH):
            batch = indices[start : start + _BATCH]
            cells = [{kind: {**cell, "index": {"index": index}}} for index in batch]
            self._write_all(Change.MODIFY, cells, "writing")

    def _write_all(self, change: Change, entities: Iterable[Any], doing: str) -> None:
        updates = [{"type": change.value, "entity": entity} for entity in entities]
        self._ask_permit()
        try:
            self._client.write(p4runtime_pb2.WriteRequest(updates=updates), False)
        except grpc.RpcError as error:
            raise self._failure_of(error, doing) from None

    # Packets and digests

    def packet_out(self, payload: bytes, metadata: Mapping[str, int] | None = None) -> None:
        """Send a packet into the data plane; ``metadata`` by the ``packet_out`` header's field names."""
        request = p4runtime_pb2.StreamMessageRequest()
        request.packet.payload = payload
        left = dict(metadata or {})
        for field in self.program.packet_out:
            value = left.pop(field.name, 0)
            if value < 0 or value >> field.bits:
                raise BadInput(
                    Problem(f"packet-out field {field.name}: {value} does not fit in {field.bits} bits")
                )
            request.packet.metadata.add(metadata_id=field.id, value=bytestrings.encode_unsigned(value))
        if left:
            raise BadInput(
                Problem(f"the program's packet_out header has no field {', '.join(left)}", self.name)
            )
        self._client.stream_out_q.put(request)

    def packets(self, timeout: float | None = None) -> Iterator[PacketIn]:
        """Yield packets from the data plane, until the stream ends or ``timeout`` seconds bring none."""
        names = {field.id: field.name for field in self.program.packet_in}
        for message in self._client.messages("packet", timeout):
            metadata = {
                names[each.metadata_id]: int.from_bytes(each.value, "big")
                for each in message.packet.metadata
                if each.metadata_id in names
            }
            yield PacketIn(message.packet.payload, metadata)

    def subscribe(
        self, digest: str, *, max_list: int = 1, max_wait_ns: int = 0, ack_wait_ns: int = 0
    ) -> None:
        """Ask for a program's digests, which :meth:`digests` yields."""
        digest_id = self._resolve_name(self.program.digest_named, digest)
        config = {"max_list_size": max_list, "max_timeout_ns": max_wait_ns, "ack_timeout_ns": ack_wait_ns}
        entry = {"digest_entry": {"digest_id": digest_id, "config": config}}
        self._write_all(Change.INSERT, [entry], f"asking for digest {digest}")

    def digests(self, timeout: float | None = None) -> Iterator[DigestMessage]:
        """Yield digest lists, each acknowledged when the next is requested; ends as :meth:`packets` does."""
        for message in self._client.messages("digest", timeout):
            digest = message.digest
            yield DigestMessage(
                self.program.digests[digest.digest_id].alias,
                digest.list_id,
                tuple(messages.plain_values(data) for data in digest.data),
            )
            ack = {"digest_id": digest.digest_id, "list_id": digest.list_id}
            self._client.stream_out_q.put(p4runtime_pb2.StreamMessageRequest(digest_ack=ack))

    def _ask_permit(self) -> None:
        if self.permit is not None:
            self.permit()

    def _read_failures(self, error: Any, updates: Sequence[EntityUpdate], start: int) -> list[Failure]:
        reported = failure_details(error)
        if not reported:
            raise self._failure_of(error, f"writing {len(updates)} updates") from None
        return [
            Failure(start + index, code, message, str(update))
            for index, ((code, message), update) in enumerate(zip(reported, updates, strict=False))
            if code != "OK"
        ]

    def _make_request(self, program: ProgramInfo, batch: Sequence[EntityUpdate]) -> Any:
        request = p4runtime_pb2.WriteRequest()
        for update in batch:
            message = request.updates.add()
            message.type = update.change.value
            try:
                messages.put_entity(message.entity, program, update.entity)
            except ValueError as error:
                raise BadInput(Problem(str(error), f"{self.name}: {update}")) from None
        return request


def _fit_election_id(election_id: _Election) -> _Election:
    if election_id is not None and (election_id < 0 or election_id >> 128):
        raise BadInput(Problem(f"election id {election_id} does not fit in 128 bits"))
    return election_id


def _p4info_file(path: Path) -> P4Info:
    try:
        return text_format.Parse(path.read_text(), p4info_pb2.P4Info(), allow_unknown_field=True)
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise BadInput(Problem(f"cannot read the P4Info: {error}", str(path))) from None
