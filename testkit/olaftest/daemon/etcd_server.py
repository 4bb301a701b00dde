"""An etcd of one's own, and a relay in front of it that can be cut as a network is."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.daemon.etcd.client import Etcd
from olafswitch.errors import MissingTool, OlafError, Problem
from olaftest.ports import find_free_tcp_ports

_DEADLINE = 60.0
_LOOPBACK = "127.0.0.1"


def missing_programs() -> str:
    """Name the programs that are needed and not installed; empty when nothing is."""
    return "" if shutil.which("etcd") else "etcd (Debian's etcd-server)"


class EtcdCluster:
    """Members of an etcd at one address, in memory's speed, each a process of its own."""

    def __init__(self, folder: Path, size: int, tls: Path | None, host: str) -> None:
        scheme = "http" if tls is None else "https"
        self._folder = folder
        self._tls = tls
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        ports = find_free_tcp_ports(2 * size, host)
        self.endpoints = [f"{host}:{port}" for port in ports[:size]]
        peers = [f"http://{host}:{port}" for port in ports[size:]]
        self._common = ["--unsafe-no-fsync", "--initial-cluster"]
        self._common.append(",".join(f"m{number}={peer}" for number, peer in enumerate(peers)))
        if tls is not None:
            self._common += [f"--cert-file={tls}/etcd.pem", f"--key-file={tls}/etcd.key"]
            self._common += [f"--trusted-ca-file={tls}/ca.pem", "--client-cert-auth"]
        self._own = [
            [
                *("--name", f"m{number}", "--data-dir", str(folder / f"m{number}")),
                *("--listen-client-urls", f"{scheme}://{endpoint}"),
                *("--advertise-client-urls", f"{scheme}://{endpoint}"),
                *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            ]
            for number, (endpoint, peer) in enumerate(zip(self.endpoints, peers, strict=True))
        ]

    def start(self, number: int) -> None:
        """Start a member, again with what it had stored."""
        with (self._folder / "log").open("a") as log:
            argv = ["etcd", *self._own[number], *self._common]
            self._processes[number] = subprocess.Popen(argv, stdout=log, stderr=log)

    def kill(self, number: int) -> None:
        """End a member at once."""
        process = self._processes.pop(number)
        process.kill()
        process.wait()

    def wait(self) -> None:
        """Wait until every endpoint answers. Raises OlafError."""
        deadline = time.monotonic() + _DEADLINE
        for endpoint in self.endpoints:
            etcd = Etcd([endpoint], self._tls)
            while True:
                try:
                    etcd.transact([], [])
                    break
                except OlafError:
                    if time.monotonic() > deadline:
                        message = (self._folder / "log").read_text()[-1000:]
                        raise OlafError(Problem(f"did not start: {message}", "etcd")) from None
                    time.sleep(0.05)
            etcd.close()

    def stop(self) -> None:
        """End every member."""
        for number in list(self._processes):
            self.kill(number)


@contextmanager
def running_cluster(size: int, *, tls: Path | None = None, host: str = _LOOPBACK) -> Iterator[EtcdCluster]:
    """Run an etcd of ``size`` members at ``host`` meanwhile.

    With ``tls`` it has that folder's pair ``etcd``, and asks clients for one of its authority. Raises
    OlafError.
    """
    if missing_programs():
        raise MissingTool(Problem(f"needs {missing_programs()}", remedy="apt-get install etcd-server"))
    folder = Path(tempfile.mkdtemp(prefix="olaf-e-"))
    made = EtcdCluster(folder, size, tls, host)
    try:
        for number in range(size):
            made.start(number)
        made.wait()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


@contextmanager
def running_etcd(*, tls: Path | None = None) -> Iterator[str]:
    """Run a :func:`running_cluster` of one; yield its endpoint."""
    with running_cluster(1, tls=tls) as one:
        yield one.endpoints[0]
