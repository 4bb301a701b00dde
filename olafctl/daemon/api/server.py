"""The API's server: calls in, operations on a controller, answers or problems out."""

import hmac
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from olafctl.daemon.admission import Admission
from olafctl.daemon.ages import Ages
from olafctl.daemon.api import convert, health_pb2, olaf_pb2
from olafctl.daemon.api.schema import CALLS, SERVICE
from olafctl.daemon.controller import Busy, Controller, Unavailable
from olafctl.daemon.leadership import NotLeader
from olafctl.daemon.messages.notices import Notices
from olafctl.daemon.model import Row
from olafctl.daemon.operate.audit import AuditLog
from olafctl.daemon.operations import Operation, Operations
from olafctl.daemon.store.interface import Compacted
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.p4runtime import address as addresses
from olafctl.p4runtime.address import Tls
from olafctl.queue.internals import Command

PROBLEMS = "olaf-problems-bin"
LEADER = "olaf-leader"
TROUBLE = "olaf-trouble-bin"
HEALTH = "grpc.health.v1.Health"
_READS = ("GetStatus", "GetQueues")
"""Calls that change nothing."""
_UNNOTED = (*_READS, "ReportAges")
"""Calls that the audit log leaves out."""
TOKEN = "authorization"
_WATCHERS = 32
_THREADS = 64 + _WATCHERS
_MESSAGE_BYTES = 64 << 10
_TIMEOUT = 60.0
_OPTIONS = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", _MESSAGE_BYTES)]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Owned:
    """What the API needs of one deployment."""

    controller: Controller
    admission: Admission
    operations: Operations
    notices: Notices
    udp_port: int
    """Of members that do not say."""
    let_go: Callable[[], None]
    """Leave it as it is, for others to change."""
    messages: Mapping[str, int] = field(default_factory=dict)
    """Control messages by what became of them, as they are counted."""
    ages: Ages = field(default_factory=Ages)


def unready(owned: Mapping[str, Owned]) -> dict[str, str]:
    """Why deployments cannot be served as they should, by name; a follower is ready when it keeps up."""
    found = {}
    for name, each in list(owned.items()):
        status = each.controller.status(summary=True)
        if not status.ready and (status.term or status.problem):
            found[name] = status.problem or "its devices are not reached"
    return found


def check_listening(address: str, tls: Tls | None, token: str) -> None:
    """Raises BadInput unless the API may be served at ``address``."""
    addresses.check(address, tls)
    if addresses.socket_of(address) is None and not token and (tls is None or tls.client_ca is None):
        what = "would let every process that reaches it change memberships"
        raise BadInput(Problem(what, address, "give a token, or a client authority for TLS"))


class Server:
    """Serves ``olaf.v1`` for some deployments, by name, until :meth:`stop`.

    A UNIX socket is its owner's. Over TCP a client needs a certificate of the authority in ``tls`` or the
    token, also from this machine; beyond loopback there must be TLS. Raises OlafError.
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
    ) -> None:
        """``owned`` loses what is let go. ``audit`` notes each change that is asked for; ``called`` is told
        of each call's name, how it ended, and the seconds it took."""
        self._audit = audit
        self._called = called
        check_listening(address, tls, token)
        path = addresses.socket_of(address)
        self._owned = owned
        self._token = token
        self._watchers = threading.BoundedSemaphore(_WATCHERS)
        self._server = grpc.server(ThreadPoolExecutor(_THREADS, "api"), options=_OPTIONS)
        handlers = {name: self._handler(name) for name in CALLS}
        health = {"Check": grpc.unary_unary_rpc_method_handler(self._health)}
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, handlers),
                grpc.method_handlers_generic_handler(HEALTH, health),
            )
        )
        self._folder: int | None = None
        if path is not None:
            addresses.claim(path.absolute())
            address = addresses.of_socket(path.absolute())
        self.address = self._listen(address, tls)
        self._server.start()

    def stop(self) -> None:
        """Refuse new calls, and end those under way."""
        self._server.stop(1.0).wait()
        path = addresses.socket_of(self.address)
        if path is not None:
            path.unlink(missing_ok=True)
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def _listen(self, address: str, tls: Tls | None) -> str:
        try:
            name, self._folder = addresses.short(address)
            # What is made meanwhile only this user may reach.
            mask = os.umask(0o177)
            try:
                if tls is not None:
                    port = self._server.add_secure_port(name, tls.credentials())
                else:
                    port = self._server.add_insecure_port(name)
            finally:
                os.umask(mask)
        except (OSError, RuntimeError) as error:
            remedy = "end what listens there, or choose another address"
            raise OlafError(Problem(f"cannot listen: {error}", address, remedy)) from None
        return address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

    def _handler(self, name: str) -> Any:
        """How gRPC calls ``name``; messages are parsed here, so that damaged ones are refused like others."""
        asked = CALLS[name].request

        def parsed(data: bytes, context: Any) -> Any:
            self._authenticate(context)
            try:
                return asked.FromString(data)
            except DecodeError as error:
                _refuse(context, BadInput(Problem(f"is no {asked.DESCRIPTOR.name}: {error}")))

        def answer(data: bytes, context: Any) -> bytes:
            began, outcome, request = time.monotonic(), "rejected", None
            try:
                request = parsed(data, context)
                message = _ANSWERS[name](self, request)
                outcome = "ok"
                self._note(name, request, context, outcome)
            except OlafError as error:
                outcome = _code(error).name.lower()
                self._note(name, request, context, str(error)[:500])
                _refuse(context, error)
            finally:
                if self._called is not None:
                    self._called(name, outcome, time.monotonic() - began)
            return bytes(message.SerializeToString())

        def stream(data: bytes, context: Any) -> Iterator[bytes]:
            request = parsed(data, context)
            try:
                for message in self._watch(request, context):
                    yield bytes(message.SerializeToString())
            except OlafError as error:
                _refuse(context, error)

        if CALLS[name].streams:
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(answer)

    def _note(self, name: str, request: Any, context: Any, outcome: str) -> None:
        """Add a change, or a refused one, to the audit log, before it is answered."""
        if self._audit is None or request is None or name in _UNNOTED:
            return
        asked = MessageToDict(request, preserving_proto_field_name=True)
        if "key" in asked:
            asked["key"] = "given"
        try:
            self._audit.append(_who(context), name, outcome, request=asked).result()
        except OlafError as error:
            _log.error("%s", error)

    def _health(self, data: bytes, context: Any) -> bytes:
        """gRPC's health protocol: of the whole (no service), and of this API."""
        self._authenticate(context)
        try:
            service = health_pb2.HealthCheckRequest.FromString(data).service
        except DecodeError:
            service = "?"
        if service not in ("", SERVICE):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        kind = health_pb2.HealthCheckResponse
        answer = kind(status=kind.NOT_SERVING if unready(self._owned) else kind.SERVING)
        return bytes(answer.SerializeToString())

    def _authenticate(self, context: Any) -> None:
        if addresses.socket_of(self.address) is not None or context.peer_identities():
            return
        given = dict(context.invocation_metadata()).get(TOKEN, "")
        if not self._token or not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "needs the daemon's token or a client certificate")

    # Calls

    def _chosen(self, deployment: str) -> Owned:
        known = ", ".join(sorted(self._owned))
        if not deployment and len(self._owned) == 1:
            return next(iter(self._owned.values()))
        if not deployment:
            raise BadInput(Problem("several deployments", "deployment", f"name one of {known}"))
        if deployment not in self._owned:
            what = f"the daemon owns no deployment {deployment[:40]!r}"
            raise BadInput(Problem(what, "deployment", f"one of: {known}"))
        return self._owned[deployment]

    def _done(self, request: Any, ask: Callable[[Operations], Operation]) -> Row:
        """The answer of one operation. Raises OlafError."""
        owned = self._chosen(request.deployment)
        try:
            return owned.admission.submit(ask(owned.operations)).result(_TIMEOUT)
        except TookTooLong:
            what = "no answer in time; whether it will be done is not known"
            raise OlafError(Problem(what, owned.controller.name, "see the status")) from None

    def _on_cluster(self, request: Any, ask: Callable[[Operations], Operation]) -> Any:
        return convert.cluster_message(self._done(request, ask))

    def _on_worker(self, request: Any, ask: Callable[[Operations], Operation]) -> Any:
        return convert.worker_message(self._done(request, ask))

    def _join(self, request: Any) -> Any:
        wish = convert.member_wish(request, self._chosen(request.deployment).udp_port)
        return self._on_worker(request, lambda ask: ask.join(wish))

    def _halt(self, request: Any, halted: bool) -> Any:
        answer = self._on_cluster(request, lambda ask: ask.halt(request.cluster, halted))
        self._chosen(request.deployment).notices.halt(request.cluster, halted)
        return answer

    def _help(self, request: Any) -> Any:
        notices = self._chosen(request.deployment).notices
        asked = notices.help(request.cluster, request.segment, request.round, request.worker)
        return olaf_pb2.HelpAnswer(asked=asked)

    def _let_go(self, request: Any) -> Any:
        owned = self._chosen(request.deployment)
        if self._owned.pop(owned.controller.name, None) is not None:
            owned.let_go()
        return olaf_pb2.LetGoAnswer()

    def _delete_cluster(self, request: Any) -> Any:
        answer = self._done(request, lambda ask: ask.delete_cluster(request.cluster))
        return olaf_pb2.DeleteClusterAnswer(members=answer["members"])

    def _status(self, request: Any) -> Any:
        chosen = [self._chosen(request.deployment)] if request.deployment else self._owned.values()
        return olaf_pb2.GetStatusAnswer(
            deployments=[convert.status_message(owned.controller.status(request.summary)) for owned in chosen]
        )

    def _queues(self, request: Any) -> Any:
        owned = self._chosen(request.deployment)
        queues: Mapping[str, Mapping[str, int]] = {}
        with suppress(OlafError):
            queues = owned.controller.southbound.queue_registers()
        return olaf_pb2.Queues(
            queues=[
                olaf_pb2.Queue(engine=engine, registers=_counts(registers))
                for engine, registers in queues.items()
            ],
            messages=_counts(dict(owned.messages)),
            ages=_counts(owned.ages.known()),
        )

    def _report_ages(self, request: Any) -> Any:
        owned = self._chosen(request.deployment)
        known = {cluster["name"] for cluster in owned.controller.status().clusters}
        owned.ages.tell({each.name: each.value for each in request.ages if each.name in known})
        return olaf_pb2.ReportAgesAnswer()

    def _watch(self, request: Any, context: Any) -> Iterator[Any]:
        controller = self._chosen(request.deployment).controller
        token = request.resume_token
        if token and not (token.isascii() and token.isdigit() and len(token) < 19):
            raise BadInput(Problem(f"{token[:40]!r} is no resume token", remedy="take one from a status"))
        if not self._watchers.acquire(blocking=False):
            raise Busy(Problem(f"{_WATCHERS} clients watch already", controller.name, "try again later"))
        try:
            since = int(token) if token else controller.status().revision
            for events in controller.watch(since, context.is_active):
                for event in events:
                    yield from convert.event_messages(event)
        finally:
            self._watchers.release()


_ANSWERS: Mapping[str, Callable[[Server, Any], Any]] = {
    "CreateCluster": lambda self, r: self._on_cluster(
        r, lambda ask: ask.create_cluster(convert.cluster_wish(r))
    ),
    "DeleteCluster": Server._delete_cluster,
    "Join": Server._join,
    "Leave": lambda self, r: self._on_worker(r, lambda ask: ask.leave(r.worker)),
    "MoveWorker": lambda self, r: self._on_worker(r, lambda ask: ask.move(r.worker, r.cluster, r.port)),
    "SetThreshold": lambda self, r: self._on_cluster(
        r, lambda ask: ask.set_threshold(r.cluster, r.threshold)
    ),
    "SetMode": lambda self, r: self._on_cluster(r, lambda ask: ask.set_mode(r.cluster, convert.mode_of(r))),
    "SetReward": lambda self, r: self._on_cluster(
        r, lambda ask: ask.set_reward(r.cluster, convert.reward_of(r))
    ),
    "Reset": lambda self, r: self._on_cluster(
        r, lambda ask: ask.command(Command.RESET, r.cluster, convert.segment_of(r))
    ),
    "FBcast": lambda self, r: self._on_cluster(
        r, lambda ask: ask.command(Command.FBCAST, r.cluster, convert.segment_of(r))
    ),
    "Help": Server._help,
    "LetGo": Server._let_go,
    "Halt": lambda self, r: self._halt(r, True),
    "Resume": lambda self, r: self._halt(r, False),
    "GetStatus": Server._status,
    "GetQueues": Server._queues,
    "ReportAges": Server._report_ages,
}


def _counts(counted: Mapping[str, int]) -> list[Any]:
    return [olaf_pb2.Count(name=name, value=value) for name, value in counted.items()]


def _who(context: Any) -> str:
    """Who calls, as far as the connection tells: a certificate's name, or how it came in."""
    names = context.auth_context().get("x509_common_name", ())
    certificate = " ".join(name.decode(errors="replace") for name in names)
    peer = str(context.peer())
    # A UNIX socket tells no more: only its owner, and root, can have connected.
    return f"{certificate} at {peer}" if certificate else peer.rstrip(":") or "unix"


def _code(error: OlafError) -> Any:
    match error:
        case BadInput():
            return grpc.StatusCode.INVALID_ARGUMENT
        case Busy():
            return grpc.StatusCode.RESOURCE_EXHAUSTED
        case Unavailable():
            return grpc.StatusCode.UNAVAILABLE
        case Compacted():
            return grpc.StatusCode.OUT_OF_RANGE
        case _:
            return grpc.StatusCode.FAILED_PRECONDITION


def _refuse(context: Any, error: OlafError) -> NoReturn:
    """End a call with an error's problems."""
    problems = [vars(problem) for problem in error.problems]
    told: list[tuple[str, str | bytes]] = [(PROBLEMS, json.dumps(problems).encode())]
    if isinstance(error, NotLeader):
        told += [(LEADER, error.leader), (TROUBLE, error.trouble.encode())]
    context.set_trailing_metadata(told)
    context.abort(_code(error), str(error)[:1000])
    raise AssertionError("abort returned")
