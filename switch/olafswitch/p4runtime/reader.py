"""Read a P4Runtime device, in the program's own names."""

from collections.abc import Callable
from typing import Any

import grpc

from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import messages
from olafswitch.p4runtime.client import StreamClient
from olafswitch.p4runtime.dataplane import CounterData, Key, MeterConfig, P4Info
from olafswitch.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafswitch.p4runtime.failures import P4RuntimeFailed, failure_details
from olafswitch.p4runtime.plain import counter_data, field_request
from olafswitch.p4runtime.program import InvalidP4Info, ProgramInfo
from olafswitch.p4runtime.protocol import p4runtime_pb2

_ALL_GROUPS = p4runtime_pb2.Entity(packet_replication_engine_entry={"multicast_group_entry": {}})


class Reader:
    """The questions of a session to its device; needs no primacy. Raises P4RuntimeFailed (an OlafError)."""

    def __init__(self, client: StreamClient, name: str) -> None:
        self._client = client
        self.device_id: int = client.device_id
        self.name = name
        self._program: ProgramInfo | None = None

    @property
    def program(self) -> ProgramInfo:
        """The pipeline's P4Info, fetched from the switch when this session did not push it."""
        if self._program is None:
            request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
                device_id=self.device_id,
                response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
            )
            answer = self._call_switch(
                "reading its pipeline", self._client.stub.GetForwardingPipelineConfig, request
            )
            if not answer.HasField("config") or not answer.config.HasField("p4info"):
                raise P4RuntimeFailed(
                    self.name, "FAILED_PRECONDITION", "it has no pipeline", "reading its pipeline"
                )
            self._program = self._index_program(answer.config.p4info)
        return self._program

    def entries(self, table: str = "") -> set[TableEntry]:
        """Return the entries of one table, or of all; default actions are not among them."""
        return set(self.ordered_entries(table))

    def ordered_entries(self, table: str = "") -> list[TableEntry]:
        """Return the entries of one table, or of all, in the switch's order."""
        query = p4runtime_pb2.Entity(table_entry={"table_id": self._table_id(table) if table else 0})
        return [entry for entry in self._read_typed(query) if isinstance(entry, TableEntry)]

    def encoded_entries(self, table: str) -> list[bytes]:
        """Return the entries of one table as ``p4.v1.Entity`` messages, for :meth:`decoded`."""
        return self._read_serialized(p4runtime_pb2.Entity(table_entry={"table_id": self._table_id(table)}))

    def encoded_groups(self) -> list[bytes]:
        """Return the multicast groups as ``p4.v1.Entity`` messages, for :meth:`decoded`."""
        return self._read_serialized(_ALL_GROUPS)

    def encoded(self, entity: Entity) -> bytes:
        """Return ``entity`` as the ``p4.v1.Entity`` of a write. Raises BadInput where the program has no
        place for it."""
        message = p4runtime_pb2.Entity()
        try:
            messages.put_entity(message, self.program, entity)
        except ValueError as error:
            raise BadInput(Problem(str(error), f"{self.name}: {entity}")) from None
        return bytes(message.SerializeToString())

    def decoded(self, entity: bytes) -> Entity:
        """Return the entity of a ``p4.v1.Entity``. Raises OlafError for what has no name in the program."""
        return self._name_entity(p4runtime_pb2.Entity.FromString(entity))[0]

    def default_action(self, table: str) -> DefaultAction:
        """Return a table's present default action."""
        wanted = {"table_id": self._table_id(table), "is_default_action": True}
        query = p4runtime_pb2.Entity(table_entry=wanted)
        found = (entry for entry in self._read_typed(query) if isinstance(entry, DefaultAction))
        return next(found, DefaultAction(self.program.table_named(table).alias))

    def multicast_groups(self) -> set[MulticastGroup]:
        return {group for group in self._read_typed(_ALL_GROUPS) if isinstance(group, MulticastGroup)}

    def clone_sessions(self) -> set[CloneSession]:
        query = p4runtime_pb2.Entity(packet_replication_engine_entry={"clone_session_entry": {}})
        return {session for session in self._read_typed(query) if isinstance(session, CloneSession)}

    def direct_counters(self, table: str) -> dict[TableEntry, CounterData]:
        """Return the direct counter of each entry of a table. Raises BadInput for a table without one."""
        query = p4runtime_pb2.Entity(table_entry={"table_id": self._counted_id(table), "counter_data": {}})
        return {
            entry: count or CounterData(0, 0)
            for entry, count in self._read_counted(query)
            if isinstance(entry, TableEntry)
        }

    def default_counter(self, table: str) -> CounterData:
        """Return the direct counter of a table's default action: the packets that matched nothing.

        A device that does not count them answers UNIMPLEMENTED.
        """
        wanted = {"table_id": self._counted_id(table), "is_default_action": True, "counter_data": {}}
        counts = [count for _, count in self._read_counted(p4runtime_pb2.Entity(table_entry=wanted))]
        return next((count for count in counts if count is not None), CounterData(0, 0))

    def counter(self, name: str) -> list[CounterData]:
        """Return the values of an indirect counter, by index."""
        counter_id = self._resolve_name(self.program.counter_named, name)
        query = p4runtime_pb2.Entity(counter_entry={"counter_id": counter_id})
        found = {
            e.counter_entry.index.index: counter_data(e.counter_entry.data)
            for e in self._read_entities(query)
        }
        return [found[index] for index in sorted(found)]

    def meter(self, name: str) -> list[MeterConfig | None]:
        """Return the configurations of an indirect meter, by index; None where a cell has none."""
        query = p4runtime_pb2.Entity(
            meter_entry={"meter_id": self._resolve_name(self.program.meter_named, name)}
        )
        found = {each.meter_entry.index.index: each.meter_entry for each in self._read_entities(query)}
        rates = ("cir", "cburst", "pir", "pburst")
        return [
            MeterConfig(*(getattr(found[at].config, rate) for rate in rates))
            if found[at].HasField("config") else None
            for at in sorted(found)
        ]  # fmt: skip

    def register(self, name: str) -> list[int]:
        """Return the values of a register of plain integers, by index. BMv2 answers UNIMPLEMENTED."""
        register_id = self._resolve_name(self.program.register_named, name)
        query = p4runtime_pb2.Entity(register_entry={"register_id": register_id})
        found = {
            e.register_entry.index.index: int.from_bytes(e.register_entry.data.bitstring, "big")
            for e in self._read_entities(query)
        }
        return [found[index] for index in sorted(found)]

    def value_set(self, name: str) -> list[Key]:
        """Return the members of a value set, each with a match for every field; None matches all."""
        value_set_id = self._resolve_name(self.program.value_set_named, name)
        fields = self.program.value_sets[value_set_id].fields
        query = p4runtime_pb2.Entity(value_set_entry={"value_set_id": value_set_id})
        members = [each for e in self._read_entities(query) for each in e.value_set_entry.members]
        found = [{each.field_id: messages.read_match(field_request(each)) for each in member.match}
                 for member in members]  # fmt: skip
        return [tuple(member.get(field.id) for field in fields) for member in found]

    def _call_switch(self, doing: str, call: Any, request: Any, **options: Any) -> Any:
        try:
            return call(request, **options)
        except grpc.RpcError as error:
            raise self._failure_of(error, doing) from None

    def _read_entities(self, query: Any) -> list[Any]:
        try:
            return list(self._client.read_entities(query))
        except grpc.RpcError as error:
            raise self._failure_of(error, f"reading {_kind_of(query)}") from None

    def _read_serialized(self, query: Any) -> list[bytes]:
        return [entity.SerializeToString() for entity in self._read_entities(query)]

    def _read_typed(self, query: Any) -> list[Entity]:
        return [entity for entity, _ in self._read_counted(query)]

    def _read_counted(self, query: Any) -> list[tuple[Entity, CounterData | None]]:
        return [self._name_entity(entity) for entity in self._read_entities(query)]

    def _name_entity(self, entity: Any) -> tuple[Entity, CounterData | None]:
        try:
            return messages.counted_from_entity(self.program, entity)
        except (ValueError, KeyError) as error:
            raise OlafError(Problem(f"what was read has no name here: {error.args[0]}", self.name)) from None

    def _failure_of(self, error: Any, doing: str) -> P4RuntimeFailed:
        for code, message in failure_details(error):
            if code != "OK":
                return P4RuntimeFailed(self.name, code, message, doing)
        return P4RuntimeFailed(self.name, error.code().name, error.details() or "", doing)

    def _table_id(self, table: str) -> int:
        return self._resolve_name(self.program.table_named, table)

    def _counted_id(self, table: str) -> int:
        table_id = self._table_id(table)
        if not self.program.tables[table_id].counter_id:
            raise BadInput(Problem(f"table {table} has no direct counter", self.name))
        return table_id

    def _resolve_name(self, lookup: Callable[[str], Any], name: str) -> int:
        try:
            return int(lookup(name).id)
        except KeyError as error:
            raise BadInput(Problem(error.args[0], self.name)) from None

    def _index_program(self, p4info: P4Info) -> ProgramInfo:
        try:
            return ProgramInfo(p4info)
        except InvalidP4Info as error:
            raise OlafError(Problem(f"the P4Info cannot be used: {error}", self.name)) from None


def _kind_of(query: Any) -> str:
    return str(query.WhichOneof("entity")).replace("_", " ")
