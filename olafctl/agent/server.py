"""The agent's TLS port: its calls, frames of front ports, and P4Runtime of the devices here."""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NoReturn

import grpc

from olafctl import __version__
from olafctl.agent import frames, parts, runtime
from olafctl.agent.parts import Part
from olafctl.machines.calls import (
    CALLS,
    DEPLOYMENT,
    DEVICE,
    LONGEST,
    PORT,
    PROBLEMS,
    READING,
    SERVICE,
    STREAMS,
    VERSION,
    Role,
)
from olafctl.machines.certificates import role_of
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.protocol import SERVICE as P4RUNTIME

_THREADS = 512
"""Each stream has one: two devices an engine, and some controllers of each."""
_OPTIONS = (
    ("grpc.max_receive_message_length", LONGEST),
    ("grpc.max_send_message_length", LONGEST),
    ("grpc.max_metadata_size", 32 << 20),
    ("grpc.absolute_max_metadata_size", 32 << 20),
    ("grpc.so_reuseport", 0),
    # Clients look every 10 s whether the cable is cut.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
_CHANGES = ("Problems", "Prepare", "Start")
"""What an agent of another version refuses."""
_log = logging.getLogger(__name__)


class Server(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Serves until :meth:`close`. Only certificates of the authority in ``tls`` connect."""

    def __init__(self, address: str, tls: Tls) -> None:
        """Raises OlafError when ``address`` cannot be used."""
        addresses.check_form(address)
        if tls.client_ca is None or addresses.socket_of(address) is not None:
            raise BadInput(Problem("an agent listens at HOST:PORT, with a client authority for TLS", address))
        os.umask(0o077)  # what is made for a deployment is this user's alone
        self._server = grpc.server(ThreadPoolExecutor(_THREADS, "agent"), options=_OPTIONS)
        self._server.add_generic_rpc_handlers((self,))
        try:
            port = self._server.add_secure_port(address, tls.credentials())
        except RuntimeError:
            remedy = "end what listens there, or choose another address"
            raise OlafError(
                Problem(f"cannot listen: {addresses.why_not_bound(address)}", address, remedy)
            ) from None
        self.address = f"{address.rpartition(':')[0]}:{port}"
        self._server.start()

    def close(self) -> None:
        """Refuse new calls and end those under way; engines go on."""
        self._server.stop(1.0).wait()

    def service(self, details: Any) -> Any:
        """How gRPC calls a method."""
        service, _, name = details.method.removeprefix("/").partition("/")
        handle: Callable[[Any, Any], Iterator[bytes]]
        if service == P4RUNTIME:
            needed = Role.READER if name in READING else Role.CONTROLLER
            handle = self._p4runtime(details.method)
        elif service == SERVICE and name in CALLS:
            needed = CALLS[name]
            handle = self._call(name)
        elif service == SERVICE and name in STREAMS:
            needed = STREAMS[name]
            handle = self._frames(name)
        else:
            return None

        def guarded(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            try:
                if _role(context) < needed:
                    what = f"{_who(context)} may not {name}: it needs the role {needed.name.lower()}"
                    remedy = (
                        f"olafctl certs FOLDER NAME --role {needed.name.lower()} makes such a certificate"
                    )
                    _refuse(
                        context, OlafError(Problem(what, remedy=remedy)), grpc.StatusCode.PERMISSION_DENIED
                    )
                yield from handle(requests, context)
            except OlafError as error:
                _refuse(context, error)
            except (KeyError, TypeError, ValueError) as error:
                _refuse(context, BadInput(Problem(f"is not understood: {error!r:.200}", name)))
            except OSError as error:
                _refuse(context, OlafError(Problem(f"failed: {error.strerror}", str(error.filename or name))))

        return grpc.stream_stream_rpc_method_handler(guarded)

    def _call(self, name: str) -> Callable[[Any, Any], Iterator[bytes]]:
        def answer(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            fields = json.loads(next(requests))
            if not isinstance(fields, dict):
                raise ValueError("a request is a JSON object")
            if name == "Describe":
                yield _line("value", parts.about())
                return
            given = _metadata(context)
            part = Part(given.get(DEPLOYMENT, ""))
            if name in _CHANGES and given.get(VERSION) != __version__:
                what = f"runs Olaf {__version__}, and the caller has {given.get(VERSION)}"
                raise OlafError(
                    Problem(what, remedy="install the same version on both, and start the agent again")
                )
            if CALLS[name] > Role.READER:
                _log.info("%s: %s for %s", part.name, name, _who(context))
            yield from self._answered(name, part, fields, context)

        return answer

    def _answered(self, name: str, part: Part, fields: dict[str, Any], context: Any) -> Iterator[bytes]:
        match name:
            case "Find":
                yield _line("value", part.find())
            case "Problems":
                yield _line("value", part.problems(fields["testbed"], fields["machine"]))
            case "Prepare":
                yield from _stepwise(lambda step: part.prepare(fields["testbed"], fields["machine"], step))
            case "Start":
                yield from _stepwise(lambda step: part.start(fields["testbed"], fields["machine"], step))
            case "Stop":
                part.stop()
                yield _line("value", None)
            case "Ask":
                reads = _role(context) < Role.CONTROLLER
                yield _line("value", part.ask(fields["request"], reads=reads))
            case "Pipeline":
                yield _line("value", part.pipeline(fields["digest"]))
            case "Logs":
                yield _line("value", part.logs(int(fields["lines"])))
            case "Follow":
                for each in frames.followed(part.folder, context.is_active):
                    yield _line("step", each)

    def _frames(self, name: str) -> Callable[[Any, Any], Iterator[bytes]]:
        def stream(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            given = _metadata(context)
            running = Part(given.get(DEPLOYMENT, "")).running()
            if running is None:
                raise OlafError(
                    Problem("does not run here", given.get(DEPLOYMENT, ""), "olafctl deploy TESTBED")
                )
            number = int(given.get(PORT, ""))
            if name == "Frames":
                yield from frames.exchanged(running.host_port(number), requests, context)
            else:
                yield from frames.captured(running.listen(number), context)

        return stream

    def _p4runtime(self, method: str) -> Callable[[Any, Any], Iterator[bytes]]:
        def forward(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            given = _metadata(context)
            address = Part(given.get(DEPLOYMENT, "")).address_of(int(given.get(DEVICE, "")))
            if _role(context) < Role.CONTROLLER:
                requests = runtime.only_watching(method, requests)
            yield from runtime.forwarded(address, method, requests, context)

        return forward


def _stepwise(work: Callable[[Callable[[str], None]], Any]) -> Iterator[bytes]:
    """What ``work`` gives, and each of its steps as it begins."""
    from queue import Queue

    lines: Queue[bytes | None] = Queue()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work(lambda step: lines.put(_line("step", step))))
        except BaseException as error:
            outcome.append(error)
        finally:
            lines.put(None)

    # Goes on when the caller goes: what is begun ends whole.
    thread = threading.Thread(target=run, name="work")
    thread.start()
    yield from iter(lines.get, None)
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    yield _line("value", outcome[0])


def _line(kind: str, value: Any) -> bytes:
    return json.dumps({kind: value}, default=str).encode()


def _metadata(context: Any) -> dict[str, str]:
    return {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}


def _role(context: Any) -> Role:
    for pem in context.auth_context().get("x509_pem_cert", ()):
        with suppress(KeyError):
            return Role[role_of(pem).upper()]
    return Role.READER


def _who(context: Any) -> str:
    names = context.auth_context().get("x509_common_name", ())
    return " ".join(name.decode(errors="replace") for name in names) or str(context.peer())


def _refuse(context: Any, error: OlafError, code: Any = None) -> NoReturn:
    problems = [{"what": each.what, "where": each.where, "remedy": each.remedy} for each in error.problems]
    context.set_trailing_metadata([(PROBLEMS, json.dumps(problems).encode())])
    refused = grpc.StatusCode.INVALID_ARGUMENT if isinstance(error, BadInput) else None
    context.abort(code or refused or grpc.StatusCode.FAILED_PRECONDITION, str(error)[:1000])
    raise AssertionError("abort returned")
