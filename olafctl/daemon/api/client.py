"""A client of the daemon: calls by name, problems as errors for people."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc

from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.api.schema import CALLS, SERVICE
from olafctl.daemon.api.server import LEADER, TROUBLE
from olafctl.daemon.controller import Unavailable
from olafctl.daemon.leadership import NotLeader
from olafctl.machines import credentials, trouble
from olafctl.machines.calls import PROBLEMS
from olafswitch import paths
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.listening import TOKEN

ADDRESS = "OLAF_DAEMON"
SECRET = "OLAF_TOKEN"
CERTIFICATES = trouble.CERTIFICATES


def default_address() -> str:
    """Return the address at which a daemon of this user listens by default."""
    return os.environ.get(ADDRESS) or addresses.of_socket(paths.state() / ".daemon" / "olaf.sock")


def daemon_listens() -> bool:
    """Return whether a daemon seems to listen at this user's address."""
    path = addresses.socket_of(default_address())
    return path is not None and path.exists()


class DaemonClient:
    """A connection to a daemon. ``certificates`` is a folder with ca.pem, client.pem and client.key.

    Raises BadInput for an address or a folder that cannot be used. Calls raise OlafError: with the daemon's
    own problems, or because it does not answer.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        token: str | None = None,
        certificates: Path | None = None,
        timeout: float = 70.0,
    ) -> None:
        self.address = address or default_address()
        self._timeout = timeout
        secret = os.environ.get(SECRET, "") if token is None else token
        self._metadata = ((TOKEN, f"Bearer {secret}"),) if secret else ()
        place = certificates or (Path(os.environ[CERTIFICATES]) if CERTIFICATES in os.environ else None)
        addresses.check_form(self.address)
        here = addresses.socket_of(self.address) is not None  # a UNIX socket has no TLS
        access = None if place is None or here else credentials.read_access(place)
        self._certificate = None if access is None else access.certificate
        try:
            name, self._folder = addresses.shorten_address(self.address)
        except OSError as error:
            raise self._silence_problem(error.strerror or str(error)) from None
        self._channel = credentials.open_channel(name, access and access.credentials())

    def __enter__(self) -> "DaemonClient":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._channel.close()
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def call(self, name: str, /, **fields: Any) -> Any:
        """Return the answer of one call, whose request has these fields; None leaves a field out. Raises
        OlafError."""
        request = request_of(name, fields)
        call = self._channel.unary_unary(f"/{SERVICE}/{name}")
        try:
            data = call(request.SerializeToString(), timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._problem_of(error) from None
        return CALLS[name].answer.FromString(data)

    def watch(self, deployment: str = "", resume_token: str = "") -> Iterator[Any]:
        """Yield events as they come. Raises OlafError when the daemon ends or refuses."""
        request = request_of("Watch", {"deployment": deployment, "resume_token": resume_token})
        stream = self._channel.unary_stream(f"/{SERVICE}/Watch")(
            request.SerializeToString(), metadata=self._metadata
        )
        try:
            for data in stream:
                yield olaf_pb2.Event.FromString(data)
        except grpc.RpcError as error:
            raise self._problem_of(error) from None
        finally:
            stream.cancel()

    def _problem_of(self, error: Any) -> OlafError:
        metadata = dict(error.trailing_metadata() or ())
        if LEADER in metadata:
            return NotLeader(metadata[LEADER], metadata.get(TROUBLE, b"").decode())
        with suppress(KeyError, ValueError, TypeError):
            problems = [Problem(**problem) for problem in json.loads(metadata[PROBLEMS])]
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return Unavailable(*problems)
            refused = error.code() is grpc.StatusCode.INVALID_ARGUMENT
            return BadInput(*problems) if refused else OlafError(*problems)
        if error.code() is grpc.StatusCode.UNAUTHENTICATED:
            remedy = f"set {SECRET} to the daemon's token, or {CERTIFICATES} to a folder of `olafctl certs`"
            return OlafError(Problem(error.details(), self.address, remedy))
        details = error.details() or error.code().name
        if addresses.socket_of(self.address) is None and error.code() is grpc.StatusCode.UNAVAILABLE:
            found = trouble.of_tls(details, self._certificate)
            if found is not None:
                return OlafError(
                    Problem(f"the daemon cannot be talked to: {found[0]}", self.address, found[1])
                )
        return self._silence_problem(trouble.shorten_reason(details))

    def _silence_problem(self, reason: str) -> OlafError:
        remedy = f"olafctl daemon starts it; {ADDRESS} names another address"
        return OlafError(Problem(f"no daemon answers: {reason}", self.address, remedy))


def request_of(name: str, fields: dict[str, Any]) -> Any:
    """Return a call's request with these fields; None leaves a field out. Raises BadInput."""
    given = {field: value for field, value in fields.items() if value is not None}
    try:
        return CALLS[name].request(**given)
    except (TypeError, ValueError) as error:
        raise BadInput(Problem(f"does not fit the request: {error}", name)) from None
