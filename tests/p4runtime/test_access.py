"""Access to an agent: its owner by a UNIX socket, others by TCP on request, beyond loopback with TLS."""

import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent import serve_devices
from olafswitch.p4runtime.protocol import p4runtime_pb2, p4runtime_stub
from olafswitch.p4runtime.session import Session
from tests.p4runtime.controller import SECONDS
from tests.p4runtime.memory_plane import MemoryPlane

CHECKOUT = Path(__file__).parents[2]


def test_a_socket_and_its_folder_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "own" / "p4runtime.sock"
    with serve_devices({1: MemoryPlane()}, f"unix:{path}") as agent:
        assert agent.address == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert Session.connect(agent.address, 1).is_primary


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_cannot_connect(tmp_path: Path) -> None:
    folder = Path(tmp_path.root, "tmp", f"olaf-test-{os.getpid()}")  # a place where another user can look
    folder.mkdir(mode=0o755)
    connect = (
        "import os, socket, sys; os.setuid(int(sys.argv[2]));"
        "socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    )
    try:
        path = folder / "p4runtime.sock"
        with serve_devices({1: MemoryPlane()}, f"unix:{path}"):
            command = ["/usr/bin/python3", "-c", connect, str(path)]
            mine = subprocess.run([*command, "0"], capture_output=True, text=True, check=False)
            assert mine.returncode == 0, mine.stderr
            other = subprocess.run([*command, "65534"], capture_output=True, text=True, check=False)
            assert other.returncode != 0
            assert "Permission denied" in other.stderr
    finally:
        shutil.rmtree(folder)


def test_the_address_of_a_relative_path_serves_clients_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serve_devices({1: MemoryPlane()}, "unix:here.sock") as agent:
        monkeypatch.chdir("/")
        assert Session.connect(agent.address, 1).is_primary
    assert list(tmp_path.iterdir()) == []


def test_a_path_longer_than_a_socket_address(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 30) / "p4runtime.sock"
    assert len(str(path)) > 107
    with serve_devices({1: MemoryPlane()}, f"unix:{path}") as agent:
        with Session.connect(agent.address, 1) as session:
            assert session.is_primary
        assert path.is_socket()


@pytest.mark.parametrize("sign", [",", "%41", "?", "#", " "])
def test_a_folder_may_have_any_name(tmp_path: Path, sign: str) -> None:
    path = tmp_path / f"a{sign}b" / "p4runtime.sock"
    with serve_devices({1: MemoryPlane()}, f"unix:{path}") as agent:
        assert path.is_socket()
        with Session.connect(agent.address, 1) as session:
            assert session.is_primary


def test_only_a_socket_that_is_left_behind_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "p4runtime.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with serve_devices({1: MemoryPlane()}, f"unix:{path}") as agent:
        with pytest.raises(OlafError, match="another process does already"):
            serve_devices({1: MemoryPlane()}, f"unix:{path}")
        assert Session.connect(agent.address, 1).is_primary


@pytest.mark.parametrize(
    "address", ["127.0.0.1:0", "[::1]:9559", "localhost:1", "127.9.9.9:65535", "unix:/a"]
)
def test_addresses_that_need_no_tls(address: str) -> None:
    addresses.check_address(address, None)


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("0.0.0.0:9559", "every host"),
        ("[::]:9559", "every host"),
        ("192.0.2.1:9559", "every host"),
        ("switch.example:9559", "every host"),
        ("unix-abstract:name", "not an address"),
        ("dns:///127.0.0.1:9559", "every host"),
        ("9559", "not an address"),
        ("127.0.0.1:65536", "not an address"),
        ("127.0.0.1:-1", "not an address"),
        ("unix:", "no path"),
    ],
)
def test_addresses_that_are_refused(address: str, word: str) -> None:
    with pytest.raises(BadInput, match=word):
        serve_devices({1: MemoryPlane()}, address)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provide a folder with .crt and .key of an authority (ca), its server and client, and a stranger
    (other)."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH")
    folder = tmp_path_factory.mktemp("keys")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, check=True)

    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "other"):
        openssl(*new, "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    for name in ("server", "client"):
        openssl(
            *(*new, "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", f"{name}.key", "-out", f"{name}.crt"),
        )
    yield folder


def _read_version(address: str, keys: Path, client: str | None) -> str:
    pair = [(keys / f"{client}{kind}").read_bytes() for kind in (".key", ".crt")] if client else [None, None]
    credentials = grpc.ssl_channel_credentials((keys / "ca.crt").read_bytes(), *pair)
    with grpc.secure_channel(address, credentials) as channel:
        stub = p4runtime_stub(channel)
        answer = stub.Capabilities(p4runtime_pb2.CapabilitiesRequest(), timeout=SECONDS)
    return str(answer.p4runtime_api_version)


def test_tls(keys: Path) -> None:
    tls = Tls(keys / "server.crt", keys / "server.key")
    with serve_devices({1: MemoryPlane()}, "0.0.0.0:0", tls) as agent:
        local = agent.address.replace("0.0.0.0", "127.0.0.1")
        assert _read_version(local, keys, None) == "1.4.1"
        with pytest.raises(OlafError, match="UNAVAILABLE"):
            Session.connect(local, 1, timeout=2)  # this connection has no TLS


def test_tls_with_an_authority_admits_only_its_clients(keys: Path) -> None:
    tls = Tls(keys / "server.crt", keys / "server.key", keys / "ca.crt")
    with serve_devices({1: MemoryPlane()}, "127.0.0.1:0", tls) as agent:
        assert _read_version(agent.address, keys, "client") == "1.4.1"
        for stranger in (None, "other"):
            with pytest.raises(grpc.RpcError) as refused:
                _read_version(agent.address, keys, stranger)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_files_that_are_no_certificate_and_key(keys: Path, tmp_path: Path) -> None:
    junk = tmp_path / "junk"
    junk.write_text("no certificate")
    for tls in (
        Tls(junk, keys / "server.key"),
        Tls(keys / "server.crt", keys / "other.key"),
        Tls(keys / "server.crt", keys / "server.key", junk),
        Tls(tmp_path / "missing", keys / "server.key"),
    ):
        with pytest.raises(BadInput, match="cannot be used for TLS"):
            serve_devices({1: MemoryPlane()}, "127.0.0.1:0", tls)
    with pytest.raises(BadInput, match="no TLS"):
        serve_devices({1: MemoryPlane()}, f"unix:{tmp_path}/s", Tls(keys / "server.crt", keys / "server.key"))


def test_grpc_writes_no_log_lines_before_our_errors() -> None:
    script = (
        "from olafswitch.errors import OlafError\n"
        "from olafswitch.p4runtime.agent import serve_devices\n"
        "from tests.p4runtime.memory_plane import MemoryPlane\n"
        "agent = serve_devices({1: MemoryPlane()}, '127.0.0.1:0')\n"
        "try:\n"
        "    serve_devices({1: MemoryPlane()}, agent.address)\n"
        "except OlafError:\n"
        "    agent.stop()\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
