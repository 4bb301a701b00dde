"""Addresses of P4Runtime: a UNIX socket that only its owner may use, or TCP, beyond loopback with TLS."""

import ipaddress
import os
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

import grpc

from olafswitch import paths
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports import unix

_UNIX = "unix:"
_LONGEST = 107  # bytes of a path in the kernel's socket addresses
_PARSED = frozenset(",%?#")  # gRPC reads these in a path as separators, escapes and ends


@dataclass(frozen=True)
class Tls:
    """PEM files of a server; with ``client_ca`` only clients with a certificate of that authority connect."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def credentials(self) -> Any:
        """Return the files as gRPC's credentials, after a first handshake; the log names a certificate that
        no client will trust. Raises BadInput with the file that cannot be used, and the reason."""
        from olafswitch.p4runtime import tls

        pair, authority = self.read_files()
        made = grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)
        tls.try_handshake(made, self.certificate)
        tls.warn_if_not_valid(self.certificate, pair[1])
        return made

    def read_files(self) -> tuple[tuple[bytes, bytes], bytes | None]:
        """Read key and certificate, and the client authority. Raises BadInput as :meth:`credentials` does."""
        from olafswitch.p4runtime import tls

        authority = tls.read_authority(self.client_ca) if self.client_ca else None
        return tls.read_pair(self.certificate, self.key), authority


@dataclass(frozen=True)
class Access:
    """A client's proof to a server beyond this machine: PEM, and metadata of each call."""

    ca: bytes
    key: bytes = field(repr=False)
    certificate: bytes
    metadata: tuple[tuple[str, str], ...] = ()

    def credentials(self) -> Any:
        """Return the client's credentials in gRPC's form."""
        return grpc.ssl_channel_credentials(self.ca, self.key, self.certificate)


def runtime_folder() -> Path:
    """Return the user's own folder for sockets, below ``$XDG_RUNTIME_DIR`` or the user's state folder."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "olaf" if base else paths.state() / ".sockets"


def of_socket(path: Path) -> str:
    """Return the address of a UNIX socket."""
    return f"{_UNIX}{path}"


def socket_of(address: str) -> Path | None:
    """Return the path of a UNIX socket's address; None for TCP."""
    return Path(address.removeprefix(_UNIX)) if address.startswith(_UNIX) else None


def check_form(address: str) -> None:
    """Raise BadInput unless ``address`` is unix:PATH or HOST:PORT."""
    path = socket_of(address)
    if path is None:
        _host_of(address)
    elif not path.name:
        raise BadInput(Problem("has no path", address, "give unix:PATH"))


def check_address(address: str, tls: Tls | None) -> None:
    """Raise BadInput unless ``address`` is unix:PATH, or HOST:PORT that is loopback or has TLS."""
    check_form(address)
    if socket_of(address) is not None:
        if tls is not None:
            remedy = "leave out the certificate, or listen at HOST:PORT"
            raise BadInput(Problem("a UNIX socket has no TLS", address, remedy))
        return
    if not is_loopback(address) and tls is None:
        what = "would let every host that reaches it program the switch"
        remedy = "add a certificate for TLS, or listen at loopback or unix:PATH"
        raise BadInput(Problem(what, address, remedy))


def is_loopback(address: str) -> bool:
    """Return whether HOST:PORT is this machine's own. Raises BadInput for another text."""
    host = _host_of(address)
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(address: str) -> str:
    """Return HOST of HOST:PORT. Raises BadInput."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadInput(
            Problem("is not an address", address, "give unix:PATH or HOST:PORT, as 127.0.0.1:9559")
        )
    return host


def claim_socket(path: Path) -> None:
    """Make a UNIX socket's folder, for its owner alone.

    Raises OlafError when a process listens there already.
    """
    address = of_socket(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.parent.stat().st_uid
    except OSError as error:
        raise OlafError(Problem(f"cannot listen: {error.strerror}", address)) from None
    if owner not in (0, os.geteuid()):
        what = "cannot listen: the folder belongs to another user, who could replace the socket"
        raise OlafError(Problem(what, address, "choose a folder of your own"))
    if path.is_socket():
        with suppress(OSError):
            unix.connect_to(path, SOCK_STREAM, 1.0).close()
            what = "cannot listen: another process does already"
            raise OlafError(Problem(what, address, "end it, or choose another address"))


def shorten_address(address: str) -> tuple[str, int | None]:
    """Return ``address`` in gRPC's form, and a descriptor to keep open while it is used.

    A path that is too long for the kernel, and a folder whose name gRPC would misread, go by way of the
    folder's descriptor. Raises OSError.
    """
    path = socket_of(address)
    if path is None or (len(os.fsencode(path)) <= _LONGEST and _PARSED.isdisjoint(str(path.parent))):
        return address, None
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return of_socket(Path(f"/proc/self/fd/{folder}/{path.name}")), folder


def why_not_bound(address: str) -> str:
    """Return why nothing can listen at ``address``, in the kernel's words: gRPC does not report the
    reason."""
    unspoken = "the address cannot be bound"
    try:
        name, folder = shorten_address(address)
        path = socket_of(name)
        if path is None:
            host, _, port = name.rpartition(":")
            [(family, kind, number, _, place), *_] = socket.getaddrinfo(
                host.strip("[]"), int(port), type=SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            with socket.socket(family, kind, number) as trial:
                trial.bind(place)
            return unspoken
        try:
            with socket.socket(socket.AF_UNIX, SOCK_STREAM) as trial:
                trial.bind(str(path))
            path.unlink()
        finally:
            if folder is not None:
                os.close(folder)
    except OSError as error:
        return error.strerror or str(error)
    return unspoken
