"""The API's server: calls in, operations on a controller, answers or problems out."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import grpc
from google.protobuf.message import DecodeError

from olafctl.daemon.api import health_pb2
from olafctl.daemon.api.calls import Calls, Owned
from olafctl.daemon.api.schema import CALLS, SERVICE
from olafctl.daemon.controller import Busy, Unavailable
from olafctl.daemon.leadership import NotLeader
from olafctl.daemon.operate.audit import AuditLog, fields_of
from olafctl.machines.calls import (
    CallQuota,
    CertificateRole,
    Forbidden,
    TooManyCalls,
    name_caller,
    refuse_call,
)
from olafctl.membership.interface import Compacted
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.listening import KEEPALIVE, ServerPort, has_token

LEADER = "olaf-leader"
TROUBLE = "olaf-trouble-bin"
HEALTH = "grpc.health.v1.Health"
_READS = ("GetStatus", "GetQueues", "Prove", "Watch")
"""The calls that change nothing, which a reader may make."""
_UNNOTED = (*_READS, "ReportAges")
"""The calls that the audit log leaves out."""
_WATCHERS = 32
_THREADS = 64 + _WATCHERS
_RESERVED = 32
"""The threads for callers that are not readers."""
_CALLS_EACH = {CertificateRole.READER: 16, CertificateRole.CONTROLLER: 64, CertificateRole.OPERATOR: 64}
"""The most calls that one certificate may have open, by its role."""
_MESSAGE_BYTES = 64 << 10
_OPTIONS = [*KEEPALIVE, ("grpc.max_receive_message_length", _MESSAGE_BYTES)]
_log = logging.getLogger(__name__)


def find_unready(owned: Mapping[str, Owned]) -> dict[str, str]:
    """Return the problems of deployments, by name; a follower that keeps up has none."""
    found = {}
    for name, each in list(owned.items()):
        status = each.controller.status(summary=True)
        if not status.ready and (status.term or status.problem):
            found[name] = status.problem or "its devices are not reached"
    return found


def check_listening(address: str, tls: Tls | None, token: str) -> None:
    """Raise BadInput unless the API may be served at ``address``."""
    addresses.check_address(address, tls)
    if addresses.socket_of(address) is None and not token and (tls is None or tls.client_ca is None):
        what = "would let every process that reaches it change memberships"
        raise BadInput(Problem(what, address, "give a token, or a client authority for TLS"))
    if tls is not None:
        tls.read_files()


class Server:
    """A server of ``olaf.v1`` for some deployments, by name, until :meth:`stop`.

    A UNIX socket belongs to its owner alone. Over TCP a client needs a certificate of the authority in
    ``tls``, and the token if there is one, also from this machine; one of the two is required, and beyond
    loopback TLS. Raises OlafError.
    """

    def __init__(
        self,
        owned: dict[str, Owned],
        address: str,
        tls: Tls | None = None,
        token: str = "",
        *,
        audit: AuditLog | None = None,
        called: Callable[[str, str, float], None] | None = None,
        stranger: Callable[[], None] | None = None,
    ) -> None:
        """Start the server; a deployment that is given up is removed from ``owned``. ``audit`` notes each
        requested change; ``called`` gets each call's name, outcome and seconds; ``stranger`` is called for
        each call without the right token."""
        self._audit = audit
        self._stranger = stranger
        self._called = called
        check_listening(address, tls, token)
        self._owned = owned
        self._calls = Calls(owned)
        self._token = token
        self._watchers = threading.BoundedSemaphore(_WATCHERS)
        self._quota = CallQuota(_THREADS, _RESERVED, _CALLS_EACH)
        self._server = grpc.server(ThreadPoolExecutor(_THREADS + _RESERVED, "api"), options=_OPTIONS)
        handlers = {name: self._handler_of(name) for name in CALLS}
        health = {"Check": grpc.unary_unary_rpc_method_handler(self._check_health)}
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, handlers),
                grpc.method_handlers_generic_handler(HEALTH, health),
            )
        )
        self._listener = ServerPort(self._server, address, tls)
        self.address = self._listener.address
        self.page = ""
        """HOST:PORT of the page of this process, if it has one."""
        self._server.start()

    def stop(self) -> None:
        """Refuse new calls, and end running calls."""
        self._server.stop(1.0).wait()
        self._listener.close()

    def _handler_of(self, name: str) -> Any:
        """Return gRPC's handler of ``name``; messages are parsed here, so that damaged ones are refused like
        others."""
        kind = CALLS[name].request

        def parsed(data: bytes, context: Any) -> Any:
            self._check_token(context)
            if name not in _READS and context.peer_identities():
                (CertificateRole.OPERATOR if name == "Backup" else CertificateRole.CONTROLLER).check(
                    context, name
                )
            try:
                return kind.FromString(data)
            except DecodeError as error:
                _refuse_call(context, BadInput(Problem(f"is not a {kind.DESCRIPTOR.name}: {error}")))

        def answer(data: bytes, context: Any) -> bytes:
            began, outcome, request = time.monotonic(), "rejected", None
            try:
                with self._hold_to_quota(context):
                    request = parsed(data, context)
                    message = self._calls.answer_call(name, request)
                    outcome = "ok"
                    self._note_in_audit(name, request, context, outcome)
            except OlafError as error:
                outcome = _status_code(error).name.lower()
                self._note_in_audit(name, request, context, str(error)[:500])
                _refuse_call(context, error)
            finally:
                if self._called is not None:
                    self._called(name, outcome, time.monotonic() - began)
            return bytes(message.SerializeToString())

        def stream(data: bytes, context: Any) -> Iterator[bytes]:
            try:
                with self._hold_to_quota(context):
                    for message in self._watch_events(parsed(data, context), context):
                        yield bytes(message.SerializeToString())
            except OlafError as error:
                _refuse_call(context, error)

        if CALLS[name].streams:
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(answer)

    def _hold_to_quota(self, context: Any) -> AbstractContextManager[None]:
        """Apply the quota to the caller, where a certificate tells callers apart."""
        return self._quota.count_open(context) if context.peer_identities() else nullcontext()

    def _note_in_audit(self, name: str, request: Any, context: Any, outcome: str) -> None:
        """Add a change, or a refused one, to the audit log, before it is answered."""
        if self._audit is None or request is None or name in _UNNOTED:
            return
        try:
            self._audit.append(name_caller(context), name, outcome, request=fields_of(request)).result()
        except OlafError as error:
            _log.error("%s", error)

    def _check_health(self, data: bytes, context: Any) -> bytes:
        """Answer gRPC's health protocol, for the whole server (no service) or for this API."""
        self._check_token(context)
        try:
            service = health_pb2.HealthCheckRequest.FromString(data).service
        except DecodeError:
            service = "?"
        if service not in ("", SERVICE):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        kind = health_pb2.HealthCheckResponse
        answer = kind(status=kind.NOT_SERVING if find_unready(self._owned) else kind.SERVING)
        return bytes(answer.SerializeToString())

    def _watch_events(self, request: Any, context: Any) -> Iterator[Any]:
        if not self._watchers.acquire(blocking=False):
            name = self._calls.controller_of(request.deployment).name
            raise Busy(Problem(f"{_WATCHERS} clients watch already", name, "try again later"))
        try:
            yield from self._calls.watch(request, context.is_active)
        finally:
            self._watchers.release()

    def _check_token(self, context: Any) -> None:
        if addresses.socket_of(self.address) is not None:
            return
        # With both configured, both are required; without the authority's certificate no call arrives here.
        if not self._token and context.peer_identities():
            return
        if not self._token or not has_token(context.invocation_metadata(), self._token):
            if self._stranger is not None:
                self._stranger()
            needs = "token" if self._token else "client certificate"
            context.abort(grpc.StatusCode.UNAUTHENTICATED, f"needs the daemon's {needs}")


def _status_code(error: OlafError) -> Any:
    match error:
        case BadInput():
            return grpc.StatusCode.INVALID_ARGUMENT
        case Forbidden():
            return grpc.StatusCode.PERMISSION_DENIED
        case Busy() | TooManyCalls():
            return grpc.StatusCode.RESOURCE_EXHAUSTED
        case Unavailable():
            return grpc.StatusCode.UNAVAILABLE
        case Compacted():
            return grpc.StatusCode.OUT_OF_RANGE
        case _:
            return grpc.StatusCode.FAILED_PRECONDITION


def _refuse_call(context: Any, error: OlafError) -> NoReturn:
    """End a call with an error's problems."""
    metadata: tuple[tuple[str, str | bytes], ...] = ()
    if isinstance(error, NotLeader):
        metadata = ((LEADER, error.leader), (TROUBLE, error.trouble.encode()))
    refuse_call(context, error, _status_code(error), *metadata)
