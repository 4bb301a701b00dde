"""A network between a daemon and what it talks to, an agent or etcd, which can be cut or frozen."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from olafswitch.ports import unix

_CHUNK = 1 << 16
_CONNECT_SECONDS = 10.0


class Relay:
    """Passes each connection on to another address, where the server may come and go."""

    def __init__(self, listening: socket.socket, connect: Callable[[], socket.socket]) -> None:
        """``connect`` makes a connection to the server, or raises OSError."""
        self._listening, self._connect_on = listening, connect
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._whole = True
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._accept_connection, name="relay", daemon=True).start()

    @classmethod
    def between(cls, outer: Path, inner: Path) -> "Relay":
        """Relay from the UNIX socket ``outer``, which it makes, to ``inner``. Raises OSError."""
        connect = partial(unix.connect_to, inner, socket.SOCK_STREAM, _CONNECT_SECONDS)
        return cls(unix.listen_at(outer, socket.SOCK_STREAM), connect)

    @classmethod
    def to(cls, endpoint: str) -> "Relay":
        """Relay from a port of the loopback, its :attr:`endpoint`, to a ``host:port``. Raises OSError."""
        host, _, port = endpoint.rpartition(":")
        connect = partial(socket.create_connection, (host, int(port)), _CONNECT_SECONDS)
        return cls(socket.create_server(("127.0.0.1", 0)), connect)

    @property
    def endpoint(self) -> str:
        """``host:port`` of a relay over TCP."""
        host, port = self._listening.getsockname()
        return f"{host}:{port}"

    def cut_connections(self) -> None:
        """Break every connection and refuse new ones until :meth:`heal_traffic`."""
        with self._lock:
            self._whole = False
            self._break_connections()
        self._flows.set()

    def freeze_traffic(self) -> None:
        """Freeze connections: what is sent arrives only after :meth:`heal_traffic`, or never if a cut comes
        first."""
        self._flows.clear()

    def heal_traffic(self) -> None:
        """Pass everything on again."""
        with self._lock:
            self._whole = True
        self._flows.set()

    def close(self) -> None:
        """Break every connection and stop listening."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut_connections()

    def _accept_connection(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connect_inner, args=(near,), daemon=True).start()

    def _connect_inner(self, near: socket.socket) -> None:
        self._flows.wait()
        try:
            far = self._connect_on()
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with near, far:
            with self._lock:
                if not self._whole:
                    return
                self._open |= {near, far}
            back = threading.Thread(target=self._pass_bytes, args=(far, near), daemon=True)
            back.start()
            self._pass_bytes(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}

    def _pass_bytes(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                self._flows.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _break_connections(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
