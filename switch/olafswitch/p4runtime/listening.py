"""How a gRPC server of Olaf listens, detects clients that are gone, and checks a token."""

import hmac
import os
from collections.abc import Mapping
from typing import Any

from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls

KEEPALIVE = (
    ("grpc.so_reuseport", 0),
    # A client whose machine has stopped is detected, and loses its place.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
TOKEN = "authorization"
"""The metadata key of a call's token: ``Bearer TOKEN``."""


class ServerPort:
    """A port of a gRPC server. A UNIX socket belongs to its owner alone from the start."""

    def __init__(self, server: Any, address: str, tls: Tls | None = None) -> None:
        """Add ``address`` to ``server``, which is not started yet. Raises OlafError."""
        self._path = addresses.socket_of(address)
        self._folder: int | None = None
        credentials = tls.credentials() if tls else None
        if self._path is not None:
            self._path = self._path.absolute()
            address = addresses.of_socket(self._path)
            addresses.claim_socket(self._path)
        mask = os.umask(0o177)
        try:
            name, self._folder = addresses.shorten_address(address)
            if credentials is None:
                port = server.add_insecure_port(name)
            else:
                port = server.add_secure_port(name, credentials)
        except (OSError, RuntimeError):
            reason, remedy = (
                addresses.why_not_bound(address),
                "end what listens there, or choose another address",
            )
            raise OlafError(Problem(f"cannot listen: {reason}", address, remedy)) from None
        finally:
            os.umask(mask)
        self.address: str = address if self._path else f"{address.rpartition(':')[0]}:{port}"
        """The address, with the chosen port in place of port 0."""

    def close(self) -> None:
        """Remove the socket once the server has stopped; may be called twice."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def has_token(metadata: Any, token: str) -> bool:
    """Return whether a call's metadata carries ``token``."""
    given: Mapping[str, Any] = dict(metadata)
    return hmac.compare_digest(str(given.get(TOKEN, "")).encode(), f"Bearer {token}".encode())
