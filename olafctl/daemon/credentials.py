"""Credentials of a client of the daemon, or of etcd, for TLS: a folder of PEM files."""

from pathlib import Path
from typing import Any

import grpc

from olafctl.errors import BadInput, Problem


def client(folder: Path) -> Any:
    """``ca.pem``, ``client.pem`` and ``client.key`` of ``folder``, as gRPC takes them. Raises BadInput."""
    try:
        ca, key, chain = ((folder / name).read_bytes() for name in ("ca.pem", "client.key", "client.pem"))
    except OSError as error:
        remedy = "put ca.pem, client.pem and client.key there"
        raise BadInput(Problem(f"cannot be used: {error.strerror}", str(folder), remedy)) from None
    return grpc.ssl_channel_credentials(ca, key, chain)
