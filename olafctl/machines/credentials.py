"""Channels of a client of the daemon, of an agent, or of etcd: in clear, or for TLS with a folder of PEM
files."""

import os
from pathlib import Path
from typing import Any

import grpc

from olafctl.machines.trouble import CERTIFICATES
from olafswitch.errors import BadInput, Problem
from olafswitch.p4runtime.address import Access

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", -1),
    # A restarted server is found within a second, not two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)


def open_channel(address: str, credentials: Any, *options: tuple[str, Any]) -> Any:
    """Return a channel to ``address``, in clear where there are no credentials."""
    if credentials is None:
        return grpc.insecure_channel(address, [*_OPTIONS, *options])
    return grpc.secure_channel(address, credentials, [*_OPTIONS, *options])


def client_credentials(folder: Path) -> Any:
    """Return ``ca.pem``, ``client.pem`` and ``client.key`` of ``folder`` for gRPC. Raises BadInput."""
    return read_access(folder).credentials()


def read_access(folder: Path | None = None) -> Access:
    """Return the access of a client whose certificate is in ``folder``, else in ``$OLAF_CERTS``. Raises
    BadInput."""
    if folder is None:
        if not (given := os.environ.get(CERTIFICATES)):
            what = "machines are reached with a client's certificate"
            remedy = f"set {CERTIFICATES} to its folder: olafctl certs FOLDER client --role operator"
            raise BadInput(Problem(what, CERTIFICATES, remedy))
        folder = Path(given)
    from olafswitch.p4runtime import tls

    try:
        for name in ("ca.pem", "client.key", "client.pem"):
            (folder / name).open("rb").close()
    except OSError as error:
        remedy = "put ca.pem, client.pem and client.key there"
        raise BadInput(Problem(f"cannot be used: {error.strerror}", str(folder), remedy)) from None
    key, chain = tls.read_pair(folder / "client.pem", folder / "client.key")
    return Access(tls.read_authority(folder / "ca.pem"), key, chain)
