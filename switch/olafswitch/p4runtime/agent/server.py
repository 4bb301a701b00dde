"""The gRPC server of the agent: calls in, statuses out (P4Runtime §10, §12)."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, NoReturn

import grpc
from google.rpc import status_pb2

from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime import limits
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent.arbitration import role_name
from olafswitch.p4runtime.agent.controller_stream import ControllerStream
from olafswitch.p4runtime.agent.device import AgentDevice, Outcome
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found
from olafswitch.p4runtime.dataplane import DataPlane, P4Info
from olafswitch.p4runtime.listening import KEEPALIVE, ServerPort, has_token
from olafswitch.p4runtime.protocol import SERVICE, Malformed, p4runtime_pb2, parse_message

_Work = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class DaemonPool(Executor):
    """Up to ``size`` daemon threads, each started when no other is free."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._free = 0
        self._started = 0
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit as Executor.submit does. Raises RuntimeError after shutdown."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("the pool is shut down")
            self._work.put((future, fn, args, kwargs))
            if self._free:
                self._free -= 1
            elif self._started < self._size:
                self._started += 1
                name = f"{self._name}_{self._started}"
                threading.Thread(target=self._run_thread, name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once all submitted work is done, whatever ``wait`` and ``cancel_futures`` say."""
        with self._lock:
            if not self._ended:
                self._ended = True
                for _ in range(self._started):
                    self._work.put(None)

    def _run_thread(self) -> None:
        while (work := self._work.get()) is not None:
            future, function, arguments, options = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments, **options))
                except BaseException as error:
                    future.set_exception(error)
            del work, future, function, arguments, options
            with self._lock:
                self._free += 1


API_VERSION = "1.4.1"
_FOR_CALLS = 16  # threads; each stream holds one more
_OPTIONS = [
    *KEEPALIVE,
    ("grpc.max_receive_message_length", limits.MESSAGE_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
]
_CODES = {code: next(each for each in grpc.StatusCode if each.value[0] == code.value) for code in Code}


class AgentServer:
    """A running P4Runtime server; see :func:`serve_devices`."""

    def __init__(
        self,
        devices: Mapping[int, DataPlane],
        address: str,
        tls: Tls | None,
        token: str,
        others: Sequence[str],
        as_bmv2: bool,
    ) -> None:
        addresses.check_address(address, tls)
        for other in others:
            addresses.check_address(other, None)
        self._devices = {id: AgentDevice(id, plane, as_bmv2=as_bmv2) for id, plane in devices.items()}
        self._streams = limits.most_streams(len(devices))
        self._free_streams = threading.BoundedSemaphore(self._streams)
        guards = [_TokenGuard(token)] if token else []
        self._pool = DaemonPool(self._streams + _FOR_CALLS, "p4runtime")
        self._server = grpc.server(self._pool, options=_OPTIONS, interceptors=guards)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, self._make_handlers()),)
        )
        self._listeners = [ServerPort(self._server, address, tls)]
        self._listeners += [ServerPort(self._server, other) for other in others]
        self.address = self._listeners[0].address
        self._server.start()

    def load_pipeline(self, device_id: int, p4info: P4Info, device_config: bytes) -> None:
        """Run a pipeline on a device that has none, as a switch that is started with a program does.

        No controller and no election is needed. Raises OlafError for a pipeline that the device refuses.
        """
        try:
            self._devices[device_id].load_pipeline(p4info, device_config)
        except Refusal as refusal:
            raise OlafError(Problem(refusal.message, f"device {device_id}")) from None

    def stop(self) -> None:
        """End every stream and call, and return once they are gone; may be called twice."""
        self._server.stop(None).wait()
        self._pool.shutdown()  # gRPC leaves this to the pool's owner
        for device in self._devices.values():
            device.close()
        for listener in self._listeners:
            listener.close()

    def wait(self) -> None:
        """Wait until the agent has been stopped."""
        self._server.wait_for_termination()

    def __enter__(self) -> "AgentServer":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _make_handlers(self) -> dict[str, Any]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return {
            "Write": unary(self._handle_write),
            "Read": stream(self._handle_read),
            "SetForwardingPipelineConfig": unary(self._set_pipeline),
            "GetForwardingPipelineConfig": unary(self._get_pipeline),
            "StreamChannel": grpc.stream_stream_rpc_method_handler(self._handle_stream),
            "Capabilities": unary(self._handle_capabilities),
        }

    def _handle_write(self, data: bytes, context: Any) -> bytes:
        try:
            request = parse_message(p4runtime_pb2.WriteRequest, data)
            device = self._find_device(request.device_id)
            outcomes = device.write_updates(request, role_name(request.role, request.role_id))
        except (Refusal, Malformed) as error:
            _abort_call(context, error)
        if any(outcomes):
            _abort_batch(context, "Write failure.", outcomes)
        return b""

    def _handle_read(self, data: bytes, context: Any) -> Iterator[bytes]:
        try:
            request = parse_message(p4runtime_pb2.ReadRequest, data)
            if len(request.entities) > limits.READ_REQUESTS:
                most = f"a ReadRequest has at most {limits.READ_REQUESTS} entities; divide it"
                raise Refusal(Code.RESOURCE_EXHAUSTED, most)
            selections, outcomes = self._find_device(request.device_id).read_entities(request.entities)
        except (Refusal, Malformed) as error:
            _abort_call(context, error)
        yield from _encode_answers(
            entity for selection in selections for entity in selection.encode_entities()
        )
        if any(outcomes):
            _abort_batch(context, "Read failure.", outcomes)

    def _set_pipeline(self, data: bytes, context: Any) -> bytes:
        try:
            request = parse_message(p4runtime_pb2.SetForwardingPipelineConfigRequest, data)
            device = self._find_device(request.device_id)
            device.set_pipeline(request, role_name(request.role, request.role_id))
        except (Refusal, Malformed) as error:
            _abort_call(context, error)
        return b""

    def _get_pipeline(self, data: bytes, context: Any) -> bytes:
        try:
            request = parse_message(p4runtime_pb2.GetForwardingPipelineConfigRequest, data)
            response = self._find_device(request.device_id).get_pipeline(request.response_type)
        except (Refusal, Malformed) as error:
            _abort_call(context, error)
        encoded: bytes = response.SerializeToString()
        return encoded

    def _handle_capabilities(self, data: bytes, context: Any) -> bytes:
        response = p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=API_VERSION)
        encoded: bytes = response.SerializeToString()
        return encoded

    def _handle_stream(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        if not self._free_streams.acquire(blocking=False):
            _abort_call(
                context, Refusal(Code.RESOURCE_EXHAUSTED, f"there are {self._streams} streams already")
            )
        controller = ControllerStream(self._find_device, _name_of_controller(context))

        def ended() -> None:
            controller.end_stream(None)
            controller.leave_role()

        try:
            if not context.add_callback(ended):
                return
            reader = threading.Thread(target=controller.receive_requests, args=(requests,), daemon=True)
            reader.start()
            yield from controller.messages()
            if controller.refusal is not None:
                controller.leave_role()
                _abort_call(context, controller.refusal)
        finally:
            ended()
            self._free_streams.release()

    def _find_device(self, device_id: int) -> AgentDevice:
        if device_id not in self._devices:
            raise not_found(f"device {device_id} does not exist")
        return self._devices[device_id]


class _TokenGuard(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc has no type information
    """An interceptor that admits calls whose metadata has ``authorization: Bearer TOKEN``."""

    def __init__(self, token: str) -> None:
        self._token = token

    def intercept_service(self, proceed: Any, call: Any) -> Any:
        handler = proceed(call)
        if handler is None or has_token(call.invocation_metadata, self._token):
            return handler
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(_turn_away_stream)
        return grpc.unary_unary_rpc_method_handler(_turn_away)


def _turn_away(request: Any, context: Any) -> NoReturn:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "needs the agent's token: authorization: Bearer TOKEN")
    raise AssertionError("abort never returns")


def _turn_away_stream(requests: Any, context: Any) -> Iterator[bytes]:
    _turn_away(requests, context)
    yield b""


def serve_devices(
    devices: Mapping[int, DataPlane],
    address: str,
    tls: Tls | None = None,
    token: str = "",
    others: Sequence[str] = (),
    *,
    as_bmv2: bool = False,
) -> AgentServer:
    """Serve devices by their ids at unix:PATH, for the owner alone, or HOST:PORT (port 0: see ``.address``).

    They are served at ``others``, each HOST:PORT of loopback without TLS, too. ``token`` admits only calls
    that carry it; ``as_bmv2`` elects primaries as BMv2 does. Raises BadInput for an address beyond loopback
    without TLS, OlafError when it cannot be bound.
    """
    return AgentServer(devices, address, tls, token, others, as_bmv2)


def _encode_answers(entities: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ReadResponses of up to 1 MiB from those of one entity, encoded as they are sent."""
    parts: list[bytes] = []
    size = 0
    for entity in entities:
        parts.append(entity)
        size += len(entity)
        if size >= limits.ANSWER_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _name_of_controller(context: Any) -> str:
    """Return a controller's name for other controllers and operators: its address and its program."""
    metadata = dict(context.invocation_metadata())
    return f"{context.peer()} ({str(metadata.get('user-agent', 'unknown program'))[:100]})"


def _abort_call(context: Any, error: Refusal | Malformed) -> NoReturn:
    refusal = error if isinstance(error, Refusal) else invalid_argument(str(error))
    context.abort(_CODES[refusal.code], refusal.message)
    raise AssertionError("abort never returns")


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
    raise AssertionError("abort never returns")
