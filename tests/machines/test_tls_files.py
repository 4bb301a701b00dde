"""A server with any files for TLS serves a client, or says which file it cannot use."""

import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from olafctl.agent.server import Server as AgentServer
from olafctl.daemon.api.server import Server as DaemonServer
from olafswitch.errors import OlafError
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent import serve_devices

KEYS: dict[str, Callable[[], Any]] = {
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "secp256k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "brainpool": lambda: ec.generate_private_key(ec.BrainpoolP256R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "short": lambda: rsa.generate_private_key(65537, 1024),
    "dsa": lambda: dsa.generate_private_key(2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}
GOOD = ("p256", "rsa")
SERVERS: dict[str, Callable[[Tls], Any]] = {
    "switch": lambda tls: serve_devices({}, "127.0.0.1:0", tls),
    "daemon": lambda tls: DaemonServer({}, "127.0.0.1:0", tls),
    "agent": lambda tls: AgentServer("127.0.0.1:0", tls),
}


def certificate_of(key: Any) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM)


def files(folder: Path, case: str) -> Tls:
    """Return the files of a case: a kind of key, or a damage to good files."""
    key = KEYS.get(case, KEYS["p256"])()
    tls = Tls(folder / "server.pem", folder / "server.key", folder / "ca.pem")
    locked = BestAvailableEncryption(b"secret")
    form = {
        "passphrase": (Encoding.PEM, PrivateFormat.PKCS8, locked),
        "old passphrase": (Encoding.PEM, PrivateFormat.TraditionalOpenSSL, locked),
        "der": (Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
    }.get(case, (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    tls.key.write_bytes(key.private_bytes(*form))
    tls.certificate.write_bytes(certificate_of(KEYS["p256"]() if case == "another key" else key))
    (folder / "ca.pem").write_bytes(certificate_of(KEYS["p256"]()))
    if case in ("server.key", "server.pem", "ca.pem"):
        (folder / case).write_bytes(b"")
    return tls


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(
    "case",
    [*KEYS, "passphrase", "old passphrase", "der", "another key", "server.key", "server.pem", "ca.pem"],
)
def test_files_for_tls_serve_a_client_or_are_named(server: str, case: str, tmp_path: Path) -> None:
    tls = files(tmp_path, case)
    try:
        running = SERVERS[server](tls)
    except OlafError as error:
        assert case not in GOOD
        assert str(tmp_path) in str(error), "no file is named"
        assert "cannot be used for TLS" in str(error)
        assert "address" not in str(error)
        if "passphrase" in case:
            assert str(error).startswith(
                f"{tls.key}: cannot be used for TLS: the key is protected by a passphrase"
            )
        return
    try:
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.set_alpn_protocols(["h2"])
        host, _, port = running.address.rpartition(":")
        with socket.create_connection((host, int(port))) as plain, client.wrap_socket(plain):
            pass
    finally:
        (running.close if server == "agent" else running.stop)()
