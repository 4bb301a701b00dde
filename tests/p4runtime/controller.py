"""A controller of plain protobuf and gRPC: no code of the project is between a test and the agent."""

import queue
import threading
from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2

from olafswitch.p4runtime.protocol import p4runtime_pb2, p4runtime_stub

SECONDS = 60.0


class PlainController:
    """A channel with at most one stream; ``election_id`` goes into every write."""

    def __init__(self, address: str, device_id: int = 1) -> None:
        options = [("grpc.max_metadata_size", 1 << 24), ("grpc.absolute_max_metadata_size", 1 << 24)]
        self.channel = grpc.insecure_channel(address, options=options)
        self.stub = p4runtime_stub(self.channel)
        self.device_id = device_id
        self.election_id: int | None = None
        self.role = ""
        self._requests: queue.Queue[Any] = queue.Queue()
        self._responses: queue.Queue[Any] = queue.Queue()
        self._stream: Any = None

    def __enter__(self) -> "PlainController":
        return self

    def __exit__(self, *error: object) -> None:
        self.end_stream()
        self.channel.close()

    def send(self, request: Any) -> None:
        if self._stream is None:
            self._stream = self.stub.StreamChannel(iter(self._requests.get, None))
            threading.Thread(target=self._receive_messages, daemon=True).start()
        self._requests.put(request)

    def arbitrate(self, election_id: int | None, role: str = "", device_id: int | None = None) -> Any:
        """Send a MasterArbitrationUpdate and return the next arbitration answer."""
        self.election_id, self.role = election_id, role
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = self.device_id if device_id is None else device_id
        if role:
            request.arbitration.role.name = role
        self._set_election(request.arbitration)
        self.send(request)
        return self.next_message("arbitration")

    def next_message(self, kind: str) -> Any:
        """Return the next message of the stream, which must be of ``kind``; "end" is the stream's status
        name."""
        got, message = self._responses.get(timeout=SECONDS)
        assert got == kind, (got, message)
        return message

    def end_stream(self) -> None:
        if self._stream is not None:
            self._requests.put(None)
            self._stream.cancel()
            self._stream = None

    def half_close(self) -> None:
        self._requests.put(None)

    def write(self, *updates: Any, atomicity: int = 0) -> list[str]:
        """Return the code of each update, or of the whole call as one string.

        An update is a message, or the name of its type and the text form of its entity.
        """
        parsed = [parse_update(*each) if isinstance(each, tuple) else each for each in updates]
        request = p4runtime_pb2.WriteRequest(device_id=self.device_id, updates=parsed, atomicity=atomicity)
        request.role = self.role
        self._set_election(request)
        try:
            self.stub.Write(request, timeout=SECONDS)
        except grpc.RpcError as error:
            return codes_of(error)
        return ["OK"] * len(updates)

    def insert(self, *entities: str) -> list[str]:
        return self.write(*(("INSERT", each) for each in entities))

    def modify(self, *entities: str) -> list[str]:
        return self.write(*(("MODIFY", each) for each in entities))

    def delete(self, *entities: str) -> list[str]:
        return self.write(*(("DELETE", each) for each in entities))

    def read(self, *entities: Any) -> list[Any]:
        """Return the entities that a read selects, each given as a message or its text form."""
        parsed = [parse_entity(each) if isinstance(each, str) else each for each in entities]
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id, entities=parsed)
        return [entity for answer in self.stub.Read(request, timeout=SECONDS) for entity in answer.entities]

    def read_codes(self, *entities: Any) -> list[str]:
        try:
            self.read(*entities)
        except grpc.RpcError as error:
            return codes_of(error)
        return ["OK"] * len(entities)

    def set_pipeline(
        self, action: str, p4info: Any = None, config: bytes = b"program", cookie: int = 0
    ) -> str:
        kind = p4runtime_pb2.SetForwardingPipelineConfigRequest
        request = kind(device_id=self.device_id, action=kind.Action.Value(action), role=self.role)
        self._set_election(request)
        if p4info is not None:
            request.config.p4info.CopyFrom(p4info)
            request.config.p4_device_config = config
            request.config.cookie.cookie = cookie
        try:
            self.stub.SetForwardingPipelineConfig(request, timeout=SECONDS)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"

    def _set_election(self, message: Any) -> None:
        if self.election_id is not None:
            message.election_id.high = self.election_id >> 64
            message.election_id.low = self.election_id & (1 << 64) - 1

    def _receive_messages(self) -> None:
        stream = self._stream
        try:
            for message in stream:
                kind = message.WhichOneof("update")
                self._responses.put((kind, getattr(message, kind)))
            self._responses.put(("end", "OK"))
        except grpc.RpcError as error:
            self._responses.put(("end", error.code().name))


def check_codes(controller: PlainController, *rows: tuple[str, str, str]) -> None:
    """Write all rows at once: the type of an update, its entity, and the code that answers it."""
    assert controller.write(*(row[:2] for row in rows)) == [code for *_, code in rows]


def codes_of(error: Any) -> list[str]:
    """Return the code of each element of a failed batch, or that of a call that failed as a whole."""
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            assert status.code == error.code().value[0] == code_pb2.UNKNOWN
            assert status.message == error.details()
            found = []
            for each in status.details:
                detail = p4runtime_pb2.Error()
                assert each.Unpack(detail)
                assert bool(detail.message) == bool(detail.canonical_code), "a message for each error"
                found.append(code_pb2.Code.Name(detail.canonical_code))
            return found
    assert error.details(), "a message for each error"
    return [error.code().name]


def parse_entity(text: str) -> Any:
    """Return a p4.v1.Entity from its text form."""
    return text_format.Parse(text, p4runtime_pb2.Entity())


def parse_update(change: str, text: str) -> Any:
    """Return a p4.v1.Update from its type's name and its entity's text form."""
    return p4runtime_pb2.Update(type=p4runtime_pb2.Update.Type.Value(change), entity=parse_entity(text))


def texts_of(entities: Sequence[Any]) -> list[str]:
    """Return entities as one-line text, sorted, to compare the results of reads."""
    return sorted(text_format.MessageToString(each, as_one_line=True) for each in entities)
