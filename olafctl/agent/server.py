"""The agent's TLS port: its calls, frames of front ports, and P4Runtime of the devices here."""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import grpc

from olafctl import __version__
from olafctl.agent import frames, parts, programs, runtime
from olafctl.agent.parts import Part
from olafctl.machines import builds
from olafctl.machines.calls import (
    CALLS,
    DEPLOYMENT,
    DEVICE,
    LONGEST,
    PORT,
    READING,
    SERVICE,
    STREAMS,
    VERSION,
    CallQuota,
    CertificateRole,
    Forbidden,
    TooManyCalls,
    name_caller,
    parse_request,
    refuse_call,
)
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.listening import KEEPALIVE, ServerPort
from olafswitch.p4runtime.protocol import METHODS
from olafswitch.p4runtime.protocol import SERVICE as P4RUNTIME

_THREADS = 512
"""The most streams, each with a thread: two devices an engine, and some controllers of each."""
_RESERVED = 128
"""Threads for callers that are not readers."""
_CALLS_EACH = {CertificateRole.READER: 64, CertificateRole.CONTROLLER: 320, CertificateRole.OPERATOR: 320}
"""The most calls that one certificate may have open, by its role."""
_OPTIONS = (
    *KEEPALIVE,
    ("grpc.max_receive_message_length", LONGEST),
    ("grpc.max_send_message_length", LONGEST),
    ("grpc.max_metadata_size", 32 << 20),
    ("grpc.absolute_max_metadata_size", 32 << 20),
    # Clients check every 10 s whether the cable is cut.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    # On a busy machine such checks come late, and several at once.
    ("grpc.http2.max_ping_strikes", 0),
)
_CHANGES = ("Problems", "Foresee", "Prepare", "Start")
"""The calls that an agent of another version refuses."""
_Handle = Callable[[Any, Any], Iterator[bytes]]
_Say = Callable[[str, Any], None]
_log = logging.getLogger(__name__)


class Server:
    """A server that runs until :meth:`close`. Only certificates of the authority in ``tls`` connect."""

    def __init__(self, address: str, tls: Tls) -> None:
        """Start the server. Raises OlafError when ``address`` cannot be used."""
        addresses.check_form(address)
        if tls.client_ca is None or addresses.socket_of(address) is not None:
            raise BadInput(Problem("an agent listens at HOST:PORT, with a client authority for TLS", address))
        os.umask(0o077)  # files of a deployment are this user's alone
        self._quota = CallQuota(_THREADS, _RESERVED, _CALLS_EACH)
        # A call that is refused for the quota has a thread, too, for a moment.
        self._server = grpc.server(ThreadPoolExecutor(_THREADS + _RESERVED, "agent"), options=_OPTIONS)
        own = {name: self._handler_of(name, role, self._handle_call(name)) for name, role in CALLS.items()}
        own |= {
            name: self._handler_of(name, role, self._handle_frames(name)) for name, role in STREAMS.items()
        }
        devices = {
            name: self._handler_of(name, _role_for(name), self._handle_p4runtime(f"/{P4RUNTIME}/{name}"))
            for name in METHODS
        }
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, own),
                grpc.method_handlers_generic_handler(P4RUNTIME, devices),
            )
        )
        self.address = ServerPort(self._server, address, tls).address
        self._server.start()

    def close(self) -> None:
        """Refuse new calls and end running calls; engines go on."""
        self._server.stop(1.0).wait()

    def _handler_of(self, name: str, needed: CertificateRole, handle: _Handle) -> Any:
        """Return gRPC's handler of the call ``name``, which needs the role ``needed``."""

        def guarded(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            try:
                with self._quota.count_open(context):
                    needed.check(context, name)
                    yield from handle(requests, context)
            except OlafError as error:
                _refuse_call(context, error)
            except OSError as error:
                _refuse_call(
                    context, OlafError(Problem(f"failed: {error.strerror}", str(error.filename or name)))
                )
            except grpc.RpcError:
                return  # the caller is gone
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                RecursionError,
                TypeError,
                ValueError,
            ) as error:
                _log.info("%s: a request of %s is not understood: %.200r", name, name_caller(context), error)
                _refuse_call(context, BadInput(Problem(f"is not understood: {error!r:.200}", name)))

        return grpc.stream_stream_rpc_method_handler(guarded)

    def _handle_call(self, name: str) -> _Handle:
        def answer(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            fields = parse_request(name, _first_request(requests, name))
            if name == "Describe":
                yield _encode_line("value", parts.describe_agent())
                return
            given = _metadata_of(context)
            part = Part(given.get(DEPLOYMENT, ""))
            if name in _CHANGES and given.get(VERSION) != __version__:
                what = f"runs Olaf {__version__}, and the caller has {given.get(VERSION)}"
                raise OlafError(
                    Problem(what, remedy="install the same version on both, and start the agent again")
                )
            if CALLS[name] > CertificateRole.READER:
                _log.info("%s: %s for %s", part.name, name, name_caller(context))
            yield from self._answer_call(name, part, fields, requests, context)

        return answer

    def _answer_call(
        self, name: str, part: Part, fields: dict[str, Any], requests: Iterator[bytes], context: Any
    ) -> Iterator[bytes]:
        match name:
            case "Find":
                yield _encode_line("value", part.find_running())
            case "Deployed":
                yield _encode_line("value", part.find_deployed())
            case "Problems":
                yield _encode_line("value", part.find_problems(fields["testbed"], fields["machine"]))
            case "Foresee":
                yield _encode_line("value", part.foresee_start(fields["testbed"], fields["machine"]))
            case "Prepare":
                wanted = fields["testbed"], fields["machine"]
                who = name_caller(context)

                def prepare(say: _Say) -> Any:
                    work = partial(part.prepare_build, *wanted, partial(say, "step"))
                    return builds.take_build(work, partial(say, "lacks"), _until_gone(requests), who)

                yield from _report_steps(prepare)
            case "Start":
                wanted = fields["testbed"], fields["machine"]
                yield from _report_steps(lambda say: part.start_engines(*wanted, partial(say, "step")))
            case "Stop":
                part.stop_engines()
                yield _encode_line("value", None)
            case "Hosts":
                yield _encode_line("value", part.change_hosts(fields["network"], bool(fields["dry"])))
            case "Pause":
                part.pause_hosts(bool(fields["paused"]))
                yield _encode_line("value", None)
            case "Ask":
                reads = CertificateRole.of(context) < CertificateRole.CONTROLLER
                yield _encode_line("value", part.ask_process(fields["request"], reads=reads))
            case "Pipeline":
                yield _encode_line("value", part.read_pipeline(fields["digest"]))
            case "Logs":
                yield _encode_line("value", part.read_logs(int(fields["lines"])))
            case "Follow":
                if not part.folder.is_dir():
                    raise OlafError(Problem("was never started here", part.name, "olafctl deploy TESTBED"))
                for each in frames.follow_logs(
                    part.folder, lambda: context.is_active() and part.folder.is_dir()
                ):
                    yield _encode_line("step", each)

    def _handle_frames(self, name: str) -> _Handle:
        def stream(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            given = _metadata_of(context)
            part = Part(given.get(DEPLOYMENT, ""))
            if name == "Exec":
                _log.info("%s: %s for %s", part.name, name, name_caller(context))
                yield from programs.run_program(part.folder, requests, context)
                return
            if (running := part.running()) is None:
                raise OlafError(Problem("does not run here", part.name, "olafctl deploy TESTBED"))
            number = int(given.get(PORT, ""))
            if name == "Frames":
                yield from frames.exchange_frames(running.host_port(number), requests, context)
            else:
                yield from frames.capture_frames(running.listen(number), context)

        return stream

    def _handle_p4runtime(self, method: str) -> _Handle:
        def forward(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            given = _metadata_of(context)
            address = Part(given.get(DEPLOYMENT, "")).address_of(int(given.get(DEVICE, "")))
            if CertificateRole.of(context) < CertificateRole.CONTROLLER:
                requests = runtime.only_watching(method, requests)
            yield from runtime.forward_call(address, method, requests, context)

        return forward


def _until_gone(requests: Iterator[bytes]) -> Iterator[bytes]:
    with suppress(grpc.RpcError):
        yield from requests


def _first_request(requests: Iterator[bytes], name: str) -> bytes:
    """Return the first message of a call. Raises BadInput."""
    for data in requests:
        return data
    raise BadInput(Problem("came without a request", name))


def _report_steps(work: Callable[[_Say], Any]) -> Iterator[bytes]:
    """Yield the steps that ``work`` reports, and then its result, each as its own kind of message."""
    from queue import Queue

    lines: Queue[bytes | None] = Queue()
    outcome: list[Any] = []

    def run_steps() -> None:
        try:
            outcome.append(work(lambda kind, value: lines.put(_encode_line(kind, value))))
        except BaseException as error:
            outcome.append(error)
        finally:
            lines.put(None)

    # The thread goes on when the caller goes: work that has begun is completed.
    thread = threading.Thread(target=run_steps, name="work")
    thread.start()
    yield from iter(lines.get, None)
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    yield _encode_line("value", outcome[0])


def _role_for(method: str) -> CertificateRole:
    return CertificateRole.READER if method in READING else CertificateRole.CONTROLLER


def _encode_line(kind: str, value: Any) -> bytes:
    return json.dumps({kind: value}, default=str).encode()


def _metadata_of(context: Any) -> dict[str, str]:
    return {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}


def _refuse_call(context: Any, error: OlafError) -> NoReturn:
    match error:
        case BadInput():
            code = grpc.StatusCode.INVALID_ARGUMENT
        case Forbidden():
            code = grpc.StatusCode.PERMISSION_DENIED
        case TooManyCalls():
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
        case _:
            code = grpc.StatusCode.FAILED_PRECONDITION
    refuse_call(context, error, code)
