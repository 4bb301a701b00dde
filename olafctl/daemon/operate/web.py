"""Metrics and health over HTTP: ``/metrics``, ``/healthz`` and ``/readyz``."""

import hmac
import json
import ssl
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from typing import Any

from olafctl.daemon.api.calls import Owned
from olafctl.daemon.api.server import unready
from olafctl.daemon.operate.metrics import Metrics
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls

_TIMEOUT = 10.0
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def check_listening(address: str, tls: Tls | None, token: str) -> None:
    """Raises BadInput unless metrics and health may be served at ``address``, HOST:PORT."""
    if addresses.is_loopback(address):
        return
    addresses.check(address, tls)
    if not token and (tls is None or tls.client_ca is None):
        what = "would show every host that reaches it who trains what"
        raise BadInput(Problem(what, address, "give a token, or a client authority for TLS"))


class Web:
    """Serves until :meth:`stop`. Beyond loopback there must be TLS, and a token or a client's certificate."""

    def __init__(
        self,
        owned: Mapping[str, Owned],
        metrics: Metrics,
        address: str,
        tls: Tls | None = None,
        token: str = "",
    ) -> None:
        """``address`` is HOST:PORT. Raises OlafError."""
        check_listening(address, tls, token)
        if addresses.is_loopback(address):
            tls, token = None, ""
        host, _, port = address.rpartition(":")
        handler = type("Handler", (_Handler,), {"owned": owned, "metrics": metrics, "token": token})
        try:
            self._server = (_Server6 if ":" in host else _Server)((host.strip("[]"), int(port)), handler)
        except OSError as error:
            remedy = "end what listens there, or choose another address"
            raise OlafError(Problem(f"cannot listen: {error.strerror}", address, remedy)) from None
        if tls is not None:
            tls.credentials()  # refuses damaged files with an error for people
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(tls.certificate, tls.key)
            if tls.client_ca is not None:
                context.load_verify_locations(tls.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
            # The handshake is the request's own thread's: a silent client delays no other.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="web", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or does not speak TLS, is not an error."""


class _Server6(_Server):
    address_family = AF_INET6


class _Handler(BaseHTTPRequestHandler):
    owned: Mapping[str, Owned]
    metrics: Metrics
    token: str
    timeout = _TIMEOUT

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "")
        if self.token and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            self.metrics.stranger()
            self._answer(HTTPStatus.UNAUTHORIZED, "text/plain", b"needs the daemon's token\n")
            return
        match self.path:
            case "/metrics":
                self._answer(HTTPStatus.OK, _TYPE, self.metrics.exposition())
            case "/healthz":
                self._answer(HTTPStatus.OK, "text/plain", b"ok\n")
            case "/readyz":
                problems = unready(self.owned)
                code = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
                self._answer(code, "application/json", json.dumps(problems).encode() + b"\n")
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"see /metrics, /healthz, /readyz\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes are not logged."""

    def version_string(self) -> str:
        return "olafctl"

    def _answer(self, code: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
