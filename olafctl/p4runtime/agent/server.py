"""The gRPC server of the agent: calls in, statuses out (P4Runtime §10, §12)."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import grpc
from google.rpc import status_pb2
from p4.v1 import p4runtime_pb2

from olafctl.errors import OlafError, Problem
from olafctl.p4runtime import wire
from olafctl.p4runtime.agent import quick
from olafctl.p4runtime.agent.arbitration import role_name
from olafctl.p4runtime.agent.device import Device, Outcome
from olafctl.p4runtime.agent.pool import DaemonPool
from olafctl.p4runtime.agent.quick import Malformed
from olafctl.p4runtime.agent.refusal import Code, Refusal, invalid, not_found
from olafctl.p4runtime.agent.stream import ControllerStream
from olafctl.p4runtime.dataplane import DataPlane

API_VERSION = "1.4.1"
_STREAMS = 48
_THREADS = _STREAMS + 16  # a stream holds its thread, so calls always find one
_ANSWER_BYTES = 1 << 20
_OPTIONS = [
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", -1),
    # A primary whose machine is gone without a word is noticed, and makes room for another.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
]
_CODES = {code: next(each for each in grpc.StatusCode if each.value[0] == code.value) for code in Code}


class Agent:
    """A running P4Runtime server; see :func:`serve`."""

    def __init__(self, devices: Mapping[int, DataPlane], address: str) -> None:
        self._devices = {id: Device(id, plane) for id, plane in devices.items()}
        self._free_streams = threading.BoundedSemaphore(_STREAMS)
        self._server = grpc.server(DaemonPool(_THREADS, "p4runtime"), options=_OPTIONS)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("p4.v1.P4Runtime", self._calls()),)
        )
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            port, reason = 0, str(error)
        else:
            reason = "the address cannot be bound"
        if port == 0:
            remedy = "choose another address, or stop what listens there"
            raise OlafError(Problem(f"P4Runtime cannot listen: {reason}", address, remedy))
        self.address = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        self._server.start()

    def stop(self) -> None:
        """End every stream and call, and return once they are gone; may be called twice."""
        self._server.stop(None).wait()
        for device in self._devices.values():
            device.close()

    def wait(self) -> None:
        """Return when the agent has been stopped."""
        self._server.wait_for_termination()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _calls(self) -> dict[str, Any]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return {
            "Write": unary(self._write),
            "Read": stream(self._read),
            "SetForwardingPipelineConfig": unary(self._set_pipeline),
            "GetForwardingPipelineConfig": unary(self._get_pipeline),
            "StreamChannel": grpc.stream_stream_rpc_method_handler(self._stream),
            "Capabilities": unary(self._capabilities),
        }

    def _write(self, data: bytes, context: Any) -> bytes:
        try:
            request = quick.write_request(data)
            device = self._device(request.device_id)
            outcomes = device.write(request, role_name(request.role, request.role_id))
        except (Refusal, Malformed) as error:
            _abort(context, error)
        if any(outcomes):
            _abort_batch(context, "Write failure.", outcomes)
        return b""

    def _read(self, data: bytes, context: Any) -> Iterator[bytes]:
        try:
            request = quick.parse(p4runtime_pb2.ReadRequest, data)
            found, outcomes = self._device(request.device_id).read(request.entities)
        except (Refusal, Malformed) as error:
            _abort(context, error)
        yield from _answers(found)
        if any(outcomes):
            _abort_batch(context, "Read failure.", outcomes)

    def _set_pipeline(self, data: bytes, context: Any) -> bytes:
        try:
            request = quick.parse(p4runtime_pb2.SetForwardingPipelineConfigRequest, data)
            self._device(request.device_id).set_pipeline(request, role_name(request.role, request.role_id))
        except (Refusal, Malformed) as error:
            _abort(context, error)
        return b""

    def _get_pipeline(self, data: bytes, context: Any) -> bytes:
        try:
            request = quick.parse(p4runtime_pb2.GetForwardingPipelineConfigRequest, data)
            response = self._device(request.device_id).get_pipeline(request.response_type)
        except (Refusal, Malformed) as error:
            _abort(context, error)
        encoded: bytes = response.SerializeToString()
        return encoded

    def _capabilities(self, data: bytes, context: Any) -> bytes:
        response = p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=API_VERSION)
        encoded: bytes = response.SerializeToString()
        return encoded

    def _stream(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        if not self._free_streams.acquire(blocking=False):
            _abort(context, Refusal(Code.RESOURCE_EXHAUSTED, f"there are {_STREAMS} streams already"))
        controller = ControllerStream(self._device)

        def ended() -> None:
            controller.end(None)
            controller.leave()

        try:
            if not context.add_callback(ended):
                return
            reader = threading.Thread(target=controller.receive, args=(requests,), daemon=True)
            reader.start()
            yield from controller.messages()
            if controller.refusal is not None:
                controller.leave()
                _abort(context, controller.refusal)
        finally:
            ended()
            self._free_streams.release()

    def _device(self, device_id: int) -> Device:
        if device_id not in self._devices:
            raise not_found(f"there is no device {device_id}")
        return self._devices[device_id]


def serve(devices: Mapping[int, DataPlane], address: str) -> Agent:
    """Serve devices by their ids at host:port (port 0 picks one; see ``.address``) or unix:path.

    Raises OlafError when the address cannot be bound.
    """
    return Agent(devices, address)


def _answers(entities: Sequence[bytes]) -> Iterator[bytes]:
    """ReadResponse messages of about a megabyte."""
    parts: list[bytes] = []
    size = 0
    for entity in entities:
        parts.append(wire.message(1, entity))
        size += len(entity)
        if size >= _ANSWER_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _abort(context: Any, error: Refusal | Malformed) -> NoReturn:
    refusal = error if isinstance(error, Refusal) else invalid(str(error))
    context.abort(_CODES[refusal.code], refusal.message)
    raise AssertionError("abort returns never")


def _abort_batch(context: Any, message: str, outcomes: Sequence[Outcome]) -> NoReturn:
    """End a batch's call with one p4.v1.Error for each of its elements (P4Runtime §12.3)."""
    status = status_pb2.Status(code=Code.UNKNOWN.value, message=message)
    for outcome in outcomes:
        error = p4runtime_pb2.Error()
        if outcome is not None:
            error.canonical_code = outcome.code.value
            error.message = outcome.message
            error.space = "olaf"
        status.details.add().Pack(error)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError("abort returns never")
