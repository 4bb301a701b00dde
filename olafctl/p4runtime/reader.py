"""Reads of a P4Runtime device, in the program's own names."""

from collections.abc import Callable, Sequence
from typing import Any

import grpc
from p4.v1 import p4runtime_pb2

from olafctl.errors import BadInput, OlafError, Problem
from olafctl.p4runtime import messages
from olafctl.p4runtime.client import Client
from olafctl.p4runtime.dataplane import CounterData, P4Info
from olafctl.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafctl.p4runtime.failures import P4RuntimeFailed, details
from olafctl.p4runtime.program import InvalidP4Info, Program


class Reader:
    """What a session can ask of its device; needs no primacy. Raises P4RuntimeFailed (an OlafError)."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.device_id: int = client.device_id
        self.name = name
        self._program: Program | None = None

    @property
    def program(self) -> Program:
        """The pipeline's P4Info, fetched from the switch when this session did not push it."""
        if self._program is None:
            request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
                device_id=self.device_id,
                response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
            )
            answer = self._call(
                "reading its pipeline", self._client.stub.GetForwardingPipelineConfig, request
            )
            if not answer.HasField("config") or not answer.config.HasField("p4info"):
                raise P4RuntimeFailed(
                    self.name, "FAILED_PRECONDITION", "it has no pipeline", "reading its pipeline"
                )
            self._program = self._indexed(answer.config.p4info)
        return self._program

    def entries(self, table: str = "") -> set[TableEntry]:
        """The entries of one table, or of all; default actions are not among them."""
        query = p4runtime_pb2.Entity()
        query.table_entry.table_id = self._table_id(table) if table else 0
        return {entry for entry in self._typed(query) if isinstance(entry, TableEntry)}

    def default_action(self, table: str) -> DefaultAction:
        """A table's default action as it is now."""
        query = p4runtime_pb2.Entity()
        query.table_entry.table_id = self._table_id(table)
        query.table_entry.is_default_action = True
        found = (entry for entry in self._typed(query) if isinstance(entry, DefaultAction))
        return next(found, DefaultAction(self.program.table_named(table).alias))

    def multicast_groups(self) -> set[MulticastGroup]:
        query = p4runtime_pb2.Entity()
        query.packet_replication_engine_entry.multicast_group_entry.SetInParent()
        return {group for group in self._typed(query) if isinstance(group, MulticastGroup)}

    def clone_sessions(self) -> set[CloneSession]:
        query = p4runtime_pb2.Entity()
        query.packet_replication_engine_entry.clone_session_entry.SetInParent()
        return {session for session in self._typed(query) if isinstance(session, CloneSession)}

    def direct_counters(self, table: str) -> dict[TableEntry, CounterData]:
        """The direct counter of each entry of a table."""
        query = p4runtime_pb2.Entity()
        query.table_entry.table_id = self._table_id(table)
        query.table_entry.counter_data.SetInParent()
        counted: dict[TableEntry, CounterData] = {}
        entities = self._read([query])
        for entry, entity in zip(self._named(entities), entities, strict=True):
            if isinstance(entry, TableEntry):
                counted[entry] = _counter_data(entity.table_entry.counter_data)
        return counted

    def default_counter(self, table: str) -> CounterData:
        """The direct counter of a table's default action: the packets that matched nothing."""
        query = p4runtime_pb2.Entity()
        query.table_entry.table_id = self._table_id(table)
        query.table_entry.is_default_action = True
        query.table_entry.counter_data.SetInParent()
        answers = [entity.table_entry.counter_data for entity in self._read([query])]
        return _counter_data(answers[0]) if answers else CounterData(0, 0)

    def counter(self, name: str) -> list[CounterData]:
        """The values of an indirect counter, by index."""
        query = p4runtime_pb2.Entity()
        query.counter_entry.counter_id = self._resolved(self.program.counter_named, name)
        found = {
            e.counter_entry.index.index: _counter_data(e.counter_entry.data) for e in self._read([query])
        }
        return [found[index] for index in sorted(found)]

    def register(self, name: str) -> list[int]:
        """The values of a register of plain integers, by index. BMv2 answers UNIMPLEMENTED."""
        query = p4runtime_pb2.Entity()
        query.register_entry.register_id = self._resolved(self.program.register_named, name)
        found = {
            e.register_entry.index.index: int.from_bytes(e.register_entry.data.bitstring, "big")
            for e in self._read([query])
        }
        return [found[index] for index in sorted(found)]

    def _call(self, doing: str, call: Any, request: Any, **options: Any) -> Any:
        try:
            return call(request, **options)
        except grpc.RpcError as error:
            raise self._failed(error, doing) from None

    def _read(self, queries: Sequence[Any]) -> list[Any]:
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id, entities=queries)
        try:
            return [entity for answer in self._client.stub.Read(request) for entity in answer.entities]
        except grpc.RpcError as error:
            raise self._failed(error, f"reading {_kind(queries[0])}") from None

    def _typed(self, query: Any) -> list[Entity]:
        return self._named(self._read([query]))

    def _named(self, entities: Sequence[Any]) -> list[Entity]:
        program = self.program
        try:
            return [messages.from_entity(program, entity) for entity in entities]
        except (ValueError, KeyError) as error:
            raise OlafError(Problem(f"what was read has no name here: {error.args[0]}", self.name)) from None

    def _failed(self, error: Any, doing: str) -> P4RuntimeFailed:
        for code, message in details(error):
            if code != "OK":
                return P4RuntimeFailed(self.name, code, message, doing)
        return P4RuntimeFailed(self.name, error.code().name, error.details() or "", doing)

    def _table_id(self, table: str) -> int:
        return self._resolved(self.program.table_named, table)

    def _resolved(self, lookup: Callable[[str], Any], name: str) -> int:
        try:
            return int(lookup(name).id)
        except KeyError as error:
            raise BadInput(Problem(error.args[0], self.name)) from None

    def _indexed(self, p4info: P4Info) -> Program:
        try:
            return Program(p4info)
        except InvalidP4Info as error:
            raise OlafError(Problem(f"the P4Info cannot be used: {error}", self.name)) from None


def _counter_data(data: Any) -> CounterData:
    return CounterData(data.packet_count, data.byte_count)


def _kind(query: Any) -> str:
    return str(query.WhichOneof("entity")).replace("_", " ")
