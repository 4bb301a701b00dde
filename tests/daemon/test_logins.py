"""A caller without a right gets the reason, in words for people, and is counted."""

import logging
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.server import Server
from olafctl.daemon.controller import Controller
from olafctl.daemon.operate.metrics import Metrics
from olafctl.machines import certificates
from olafctl.machines.certificates import issue_pair
from olafswitch.errors import OlafError
from olafswitch.p4runtime.address import Tls
from olaftest.daemon.machines import client_folder
from tests.daemon.test_api import TOKEN, own_deployment

Made = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Provide a function that makes a folder with an authority and pairs, valid for these days."""

    def make(name: str, host: str = "127.0.0.1", server: int = 1, client: int = 1) -> Path:
        monkeypatch.setattr(certificates, "_CLOCK_SKEW", timedelta(days=9))
        issue_pair(tmp_path / name, "other", ("elsewhere",), 1)
        issue_pair(tmp_path / name, "server", (host,), server)
        issue_pair(tmp_path / name, "client", (), client)
        return tmp_path / name

    return make


def tls_of(folder: Path, mutual: bool = True) -> Tls:
    return Tls(folder / "server.pem", folder / "server.key", folder / "ca.pem" if mutual else None)


@contextmanager
def serve_api(
    controller: Controller, tls: Tls | None, token: str = "", metrics: Metrics | None = None
) -> Iterator[str]:
    stranger = metrics.count_stranger if metrics else None
    server = Server(own_deployment(controller), "127.0.0.1:0", tls, token, stranger=stranger)
    try:
        yield server.address
    finally:
        server.stop()


def output_of_client(address: str, folder: Path | None, token: str = "") -> str:
    """Return the error of a client's request for the status; empty without an error."""
    with DaemonClient(address, token=token, certificates=folder, timeout=20) as client:
        try:
            client.call("GetStatus")
        except OlafError as error:
            return str(error)
    return ""


def test_trouble_with_tls_is_reported_in_words(controller: Controller, folder: Made, tmp_path: Path) -> None:
    ours, theirs = folder("ours"), folder("theirs")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    shutil.copy(ours / "ca.pem", stranger)
    for name in ("client.pem", "client.key"):
        shutil.copy(theirs / name, stranger)
    with serve_api(controller, tls_of(ours)) as address:
        assert output_of_client(address, ours) == ""
        assert "its certificate is not of this client's authority" in output_of_client(address, theirs)
        assert "as one that speaks TLS does (give the folder" in output_of_client(address, None)
        assert "this client's certificate is of another authority" in output_of_client(address, stranger)
        for mine, why in (("past", "expired at"), ("future", "is not valid before")):
            early, late = {"past": (-9, -1), "future": (1, 9)}[mine]
            assert f"this client's certificate {why}" in output_of_client(
                address, _issue_dated(ours, tmp_path / mine, early, late)
            )
    with serve_api(controller, tls_of(folder("renamed", "elsewhere.example"))) as address:
        assert "is for another name or address" in output_of_client(address, tmp_path / "renamed")
    with serve_api(controller, None, TOKEN) as address:
        assert "it does not speak TLS (unset OLAF_CERTS" in output_of_client(address, ours)
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        assert "no daemon answers: Connection refused" in output_of_client(address, None)


def _issue_dated(ours: Path, folder: Path, first_day: int, last_day: int) -> Path:
    """Make a folder of a client of the authority in ``ours``, whose certificate is valid on other days."""
    shutil.copytree(ours, folder)
    signer = serialization.load_pem_private_key((ours / "ca.key").read_bytes(), None)
    made = x509.load_pem_x509_certificate((ours / "client.pem").read_bytes())
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(made.issuer, made.subject, made.public_key(), made.serial_number)
    builder = builder.not_valid_before(now + timedelta(first_day)).not_valid_after(now + timedelta(last_day))
    for extension in made.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    signed = builder.sign(signer, hashes.SHA256())  # type: ignore[arg-type]
    (folder / "client.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder


@pytest.mark.parametrize(("role", "may"), [("reader", False), ("", False), ("controller", True)])
def test_who_may_change_a_membership(
    controller: Controller, folder: Made, tmp_path: Path, role: str, may: bool
) -> None:
    ours = folder("ours")
    issue_pair(ours, "other client", (), 1, role)
    client_folder(ours, tmp_path / "theirs", "other client")
    with (
        serve_api(controller, tls_of(ours)) as address,
        DaemonClient(address, certificates=tmp_path / "theirs", timeout=20) as client,
    ):
        client.call("GetStatus")
        with nullcontext() if may else pytest.raises(OlafError, match="may not CreateCluster: it needs"):
            client.call("CreateCluster", name="red")


def test_a_command_reports_it_in_one_line(controller: Controller, folder: Made) -> None:
    """gRPC's own log lines about a failed handshake are left out."""
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}
    with serve_api(controller, None, TOKEN) as address:
        asked = subprocess.run(
            [sys.executable, "-m", "olafctl", "cluster", "list"],
            env={**environment, "OLAF_DAEMON": address, "OLAF_CERTS": str(folder("own"))},
            capture_output=True,
            text=True,
        )
    (line,) = asked.stderr.splitlines()
    assert line.startswith(f"error: {address}: the daemon cannot be talked to")


def test_an_expired_certificate_is_logged_and_clients_learn_it(
    controller: Controller, folder: Made, caplog: pytest.LogCaptureFixture
) -> None:
    old = folder("old", server=-1)
    with serve_api(controller, tls_of(old)) as address:
        assert "server.pem: expired at" in caplog.text
        assert "no client will trust it" in caplog.text
        assert "its certificate has expired" in output_of_client(address, old)
    caplog.clear()
    with serve_api(controller, tls_of(folder("new"))):
        assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_beside_client_certificates_the_token_is_required(controller: Controller, folder: Made) -> None:
    ours = folder("ours")
    with serve_api(controller, tls_of(ours), TOKEN) as address:
        assert "needs the daemon's token" in output_of_client(address, ours)
        assert "needs the daemon's token" in output_of_client(address, ours, "wrong")
        assert output_of_client(address, ours, TOKEN) == ""


def test_failed_logins_are_counted(controller: Controller) -> None:
    metrics = Metrics(own_deployment(controller))
    with serve_api(controller, None, TOKEN, metrics) as address:
        output_of_client(address, None)
        output_of_client(address, None, "wrong")
        with DaemonClient(address, token="wrong") as client, pytest.raises(OlafError, match="token"):
            next(client.watch())
        assert output_of_client(address, None, TOKEN) == ""
    assert b"olaf_failed_logins_total 3.0\n" in metrics.expose_metrics()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("198.51.100.7:9600", "Cannot assign requested address"),
        ("unix:/proc/olaf/olaf.sock", "No such file or directory"),
    ],
)
def test_the_reason_not_to_listen_is_reported(
    controller: Controller, folder: Made, address: str, reason: str
) -> None:
    over = None if address.startswith("unix:") else tls_of(folder("ours"))
    with pytest.raises(OlafError, match=f"cannot listen: {reason}"):
        Server(own_deployment(controller), address, over)


def test_another_listener_is_reported(controller: Controller) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OlafError, match="cannot listen: Address already in use"):
            Server(own_deployment(controller), address, token=TOKEN)


def test_an_authority_outlives_its_pairs(tmp_path: Path) -> None:
    for _ in ("made", "renewed"):
        issue_pair(tmp_path, "server", ("127.0.0.1",), 30)
        authority, server = (
            x509.load_pem_x509_certificate((tmp_path / made).read_bytes())
            for made in ("ca.pem", "server.pem")
        )
        assert authority.not_valid_after_utc - server.not_valid_after_utc > timedelta(days=3000)
        for pair in ("server.pem", "server.key"):
            (tmp_path / pair).unlink()
