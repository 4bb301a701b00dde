"""Channels of a client of the daemon, or of etcd: in clear, or for TLS with a folder of PEM files."""

from pathlib import Path
from typing import Any

import grpc

from olafswitch.errors import BadInput, Problem

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", -1),
    # What was started again is found within a second, not two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)


def channel(address: str, credentials: Any, *options: tuple[str, Any]) -> Any:
    """A channel to ``address``, in clear where there are no credentials."""
    if credentials is None:
        return grpc.insecure_channel(address, [*_OPTIONS, *options])
    return grpc.secure_channel(address, credentials, [*_OPTIONS, *options])


def client(folder: Path) -> Any:
    """``ca.pem``, ``client.pem`` and ``client.key`` of ``folder``, as gRPC takes them. Raises BadInput."""
    try:
        ca, key, chain = ((folder / name).read_bytes() for name in ("ca.pem", "client.key", "client.pem"))
    except OSError as error:
        remedy = "put ca.pem, client.pem and client.key there"
        raise BadInput(Problem(f"cannot be used: {error.strerror}", str(folder), remedy)) from None
    return grpc.ssl_channel_credentials(ca, key, chain)
