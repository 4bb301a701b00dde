"""UNIX sockets at any path: the kernel takes at most 107 bytes, but a state folder's path may be longer."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Yield a name for ``path`` that fits a socket address, valid inside the ``with`` block.

    Raises OSError when the folder does not exist.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listen_at(path: Path, kind: socket.SocketKind) -> socket.socket:
    """Return a listening socket at ``path``, in place of a socket that a dead process left.

    Raises OSError, FileExistsError when something answers at ``path`` or it is not a socket.
    """
    if path.exists():
        if not path.is_socket() or _path_answers(path, kind):
            raise FileExistsError(f"{path} is in use")
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, kind)
    try:
        with short_name(path) as name:
            listening.bind(name)
        listening.listen(64)
    except BaseException:
        listening.close()
        raise
    return listening


def is_own(peer: socket.socket) -> bool:
    """Return whether the process at the other end of a connection runs as this user or root."""
    return _peer_credentials(peer)[1] in (0, os.geteuid())


def process_of(peer: socket.socket) -> int:
    """Return the id of the process at the other end of a connection."""
    return _peer_credentials(peer)[0]


def connect_to(path: Path, kind: socket.SocketKind, timeout: float | None = None) -> socket.socket:
    """Return a socket connected to ``path``.

    Raises OSError when no process listens there.
    """
    connected = socket.socket(socket.AF_UNIX, kind)
    connected.settimeout(timeout)
    try:
        with short_name(path) as name:
            connected.connect(name)
    except BaseException:
        connected.close()
        raise
    return connected


def _path_answers(path: Path, kind: socket.SocketKind) -> bool:
    try:
        connect_to(path, kind, timeout=1.0).close()
    except OSError:
        return False
    return True


def _peer_credentials(peer: socket.socket) -> tuple[int, int]:
    """Return the ids of the process at the other end and of its user."""
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(found)
    return process, user
