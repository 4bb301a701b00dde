"""An etcd of one's own, and a relay in front of it that can be cut as a network is."""

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from olafctl.daemon.etcd.client import Etcd
from olafctl.errors import MissingTool, OlafError, Problem

_DEADLINE = 60.0


def missing() -> str:
    """What is needed and not installed; empty when nothing is."""
    return "" if shutil.which("etcd") else "etcd (Debian's etcd-server)"


@contextmanager
def running(*, tls: Path | None = None) -> Iterator[str]:
    """An etcd meanwhile, at loopback and in memory's speed; its endpoint.

    With ``tls`` it has that folder's pair ``etcd``, and asks clients for one of its authority. Raises
    OlafError.
    """
    if missing():
        raise MissingTool(Problem(f"needs {missing()}", remedy="apt-get install etcd-server"))
    folder = Path(tempfile.mkdtemp(prefix="olaf-e-"))
    client, peer = _free_port(), _free_port()
    scheme = "http" if tls is None else "https"
    endpoint = f"127.0.0.1:{client}"
    argv = ["etcd", "--data-dir", str(folder / "data"), "--unsafe-no-fsync"]
    argv += ["--listen-client-urls", f"{scheme}://{endpoint}"]
    argv += ["--advertise-client-urls", f"{scheme}://{endpoint}"]
    argv += ["--listen-peer-urls", f"http://127.0.0.1:{peer}"]
    argv += ["--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"]
    argv += ["--initial-cluster", f"default=http://127.0.0.1:{peer}"]
    if tls is not None:
        argv += [f"--cert-file={tls}/etcd.pem", f"--key-file={tls}/etcd.key"]
        argv += [f"--trusted-ca-file={tls}/ca.pem", "--client-cert-auth"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        _await(process, Etcd([endpoint], tls), folder / "log")
        yield endpoint
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


class Relay:
    """Carries bytes to an endpoint; while cut it holds them back, as a lost network does."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.rpartition(":")
        self._to = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._flows = threading.Event()
        self._flows.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, name="relay", daemon=True).start()

    def cut(self) -> None:
        """Carry nothing more, in neither direction; connections stay open."""
        self._flows.clear()

    def restore(self) -> None:
        """Carry on, with what was held back."""
        self._flows.set()

    def close(self) -> None:
        """End every connection."""
        self._flows.set()
        for each in (self._server, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(self._to)
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, name="relay", daemon=True).start()

    def _carry(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_WR)


def _await(process: "subprocess.Popen[bytes]", etcd: Etcd, log: Path) -> None:
    deadline = time.monotonic() + _DEADLINE
    while True:
        try:
            etcd.transact([], [])
            etcd.close()
            return
        except OlafError:
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text()[-1000:]
                raise OlafError(Problem(f"did not start: {said}", "etcd")) from None
            time.sleep(0.05)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
