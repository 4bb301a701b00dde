"""Serve ``/metrics``, ``/healthz``, ``/readyz``, and the page ``/``, which reads ``/events``, over HTTP."""

import base64
import binascii
import hmac
import json
import logging
import ssl
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from socket import AF_INET6
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlsplit

from olafctl import paths
from olafctl.daemon.api.calls import Owned
from olafctl.daemon.api.server import find_unready
from olafctl.daemon.operate.metrics import Metrics
from olafctl.daemon.web.looks import Looks
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls

_TIMEOUT = 10.0
_log = logging.getLogger(__name__)
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATIC = Path(__file__).parent / "static"
_FILES = {
    "/": (_STATIC / "page.html", "text/html"),
    "/page.css": (_STATIC / "page.css", "text/css"),
    "/page.js": (_STATIC / "page.js", "text/javascript"),
    "/charts.js": (_STATIC / "charts.js", "text/javascript"),
    "/threats": (paths.sources() / "docs" / "threats.md", "text/plain"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_PAGES = 32
"""The most pages that may be open at a time: each has a thread and a connection."""


def check_listening(address: str, tls: Tls | None, token: str) -> None:
    """Raise BadInput unless metrics and health may be served at ``address``, HOST:PORT.

    At loopback anything may be: the log says so where callers of the API need what the page cannot ask for.
    """
    if addresses.is_loopback(address):
        return
    addresses.check_address(address, tls)
    if not token and (tls is None or tls.client_ca is None):
        what = "would show every host that reaches it who trains what"
        raise BadInput(Problem(what, address, "give a token, or a client authority for TLS"))


class Web:
    """A server that runs until :meth:`stop`. A token, if any, is needed everywhere; beyond loopback TLS is
    required, and a token or a client's certificate."""

    def __init__(
        self,
        looks: Looks,
        address: str,
        tls: Tls | None = None,
        token: str = "",
        owned: Mapping[str, Owned] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Start the server at ``address``; ``owned`` and ``metrics`` are a daemon's. Raises OlafError."""
        check_listening(address, tls, token)
        loopback = addresses.is_loopback(address)
        if loopback:
            if tls is not None and tls.client_ca is not None and not token:
                why = "every user of this machine can read the page and the audit log (give --token-file)"
                _log.warning("%s: %s", address, why)
            tls = None
        host, _, port = address.rpartition(":")
        self._looks = looks
        known = {"looks": looks, "owned": owned, "metrics": metrics, "token": token, "loopback": loopback}
        handler = type("Handler", (_Handler,), {**known, "pages": BoundedSemaphore(_PAGES)})
        try:
            self._server = (_Server6 if ":" in host else _Server)((host.strip("[]"), int(port)), handler)
        except OSError as error:
            remedy = "end what listens there, or choose another address"
            raise OlafError(Problem(f"cannot listen: {error.strerror}", address, remedy)) from None
        if tls is not None:
            tls.credentials()  # this refuses damaged files with an error for people
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(tls.certificate, tls.key)
            if tls.client_ca is not None:
                context.load_verify_locations(tls.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
            # The handshake runs in the request's own thread: a silent client delays no other.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="web", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, and looking."""
        self._looks.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that goes away, or does not speak TLS."""


class _Server6(_Server):
    address_family = AF_INET6


class _Handler(BaseHTTPRequestHandler):
    looks: Looks
    owned: Mapping[str, Owned] | None
    metrics: Metrics | None
    token: str
    loopback: bool
    pages: BoundedSemaphore
    timeout = _TIMEOUT

    def do_GET(self) -> None:
        if self.token and not self._has_token():
            if self.metrics is not None:
                self.metrics.count_stranger()
            body = b"needs the daemon's token\n"
            self._send_answer(
                HTTPStatus.UNAUTHORIZED, "text/plain", body, {"WWW-Authenticate": 'Basic realm="olaf"'}
            )
            return
        path = self.path.partition("?")[0]
        if self.loopback and not self._is_addressed():
            # A page of another site whose name was made to lead here has that name in its requests.
            self._send_answer(
                HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"ask by localhost or by an address\n"
            )
        elif path == "/metrics" and self.metrics is not None:
            self._send_answer(HTTPStatus.OK, _TYPE, self.metrics.expose_metrics())
        elif path == "/healthz":
            self._send_answer(HTTPStatus.OK, "text/plain", b"ok\n")
        elif path == "/readyz" and self.owned is not None:
            problems = find_unready(self.owned)
            code = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
            self._send_answer(code, "application/json", json.dumps(problems).encode() + b"\n")
        elif path == "/events" and self.command == "HEAD":
            self._begin_answer(HTTPStatus.OK, {"Content-Type": "text/event-stream"})
        elif path == "/events":
            self._stream_events()
        elif path in _FILES and _FILES[path][0].is_file():
            file, kind = _FILES[path]
            self._send_answer(HTTPStatus.OK, f"{kind}; charset=utf-8", file.read_bytes())
        else:
            self._send_answer(HTTPStatus.NOT_FOUND, "text/plain", b"see /, /metrics, /healthz, /readyz\n")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Log no scrapes."""

    def version_string(self) -> str:
        return "olafctl"

    def _has_token(self) -> bool:
        """Return whether the token came as an API client gives it, or as a browser does: as a password."""
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        found = given.encode()
        if kind.lower() == "basic":
            try:
                found = base64.b64decode(found, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind != "Bearer":
            return False
        return hmac.compare_digest(found, self.token.encode())

    def _is_addressed(self) -> bool:
        """Return whether the request names this host by an address, or as localhost."""
        try:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            return host == "localhost" or bool(ip_address(host))
        except ValueError:
            return False

    def _stream_events(self) -> None:
        if not self.pages.acquire(blocking=False):
            self._send_answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"too many pages are open\n")
            return
        try:
            self._begin_answer(HTTPStatus.OK, {"Content-Type": "text/event-stream"})
            for event in self.looks.stream_events():
                self.wfile.write(event)
        finally:
            self.pages.release()

    def _send_answer(
        self, code: HTTPStatus, kind: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self._begin_answer(code, {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin_answer(self, code: HTTPStatus, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
