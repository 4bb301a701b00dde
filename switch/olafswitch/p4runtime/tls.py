"""Certificates and keys of TLS, checked so that an error names the file and what is wrong with it."""

import logging
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from olafswitch.errors import BadInput, Problem

_log = logging.getLogger(__name__)
_HANDSHAKE_SECONDS = 10.0
_UNFIT = "cannot be used for TLS: "
_OTHER_FILE = "give another file, or make a pair: olafctl certs"


def read_pem(path: Path) -> bytes:
    """Read a file. Raises BadInput."""
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"{_UNFIT}it cannot be read: {error.strerror}"
        raise BadInput(Problem(what, str(path), "make it readable for this user")) from None


def read_authority(path: Path) -> bytes:
    """Read the certificates of an authority. Raises BadInput."""
    data = read_pem(path)
    _parse_certificates(data, path)
    return data


def read_pair(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    """Read a private key and its certificate, as gRPC takes them. Raises BadInput."""
    chain, secret = read_pem(certificate), read_pem(key)
    public = _parse_certificates(chain, certificate)[0].public_key()
    try:
        private = serialization.load_pem_private_key(secret, None)
    except TypeError:
        what = f"{_UNFIT}the key is protected by a passphrase"
        raise BadInput(Problem(what, str(key), "remove it: openssl pkey -in KEY -out NEW")) from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadInput(Problem(f"{_UNFIT}it holds no PEM private key", str(key), _OTHER_FILE)) from None
    if private.public_key() != public:
        what = f"{_UNFIT}it is not the key of {certificate}"
        raise BadInput(Problem(what, str(key), "give the certificate and the key of one pair"))
    return secret, chain


def try_handshake(credentials: Any, certificate: Path) -> None:
    """Connect to a server of this process that has ``credentials``: gRPC refuses some that are well formed.
    Raises BadInput."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    server = grpc.server(ThreadPoolExecutor(1, "handshake"))
    try:
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        with (
            socket.create_connection(("127.0.0.1", port), _HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain),
        ):
            return
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "reason", None) or "gRPC refuses it"
        remedy = "make a pair with an EC key on P-256, or an RSA key: olafctl certs"
        raise BadInput(
            Problem(f"{_UNFIT}no connection comes about: {reason}", str(certificate), remedy)
        ) from None
    finally:
        server.stop(None)


def why_not_valid(certificate: bytes) -> str:
    """Return why a PEM certificate is not valid now; empty where it is valid."""
    found = x509.load_pem_x509_certificate(certificate)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    if end < datetime.now(UTC):
        return f"expired at {end:%Y-%m-%d %H:%M} UTC"
    if begin > datetime.now(UTC):
        return f"is not valid before {begin:%Y-%m-%d %H:%M} UTC"
    return ""


def warn_if_not_valid(path: Path, certificate: bytes) -> None:
    """Log a warning for a server's certificate that no client will trust."""
    if why := why_not_valid(certificate):
        _log.warning("%s: %s: no client will trust it (make another)", path, why)


def _parse_certificates(data: bytes, path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        raise BadInput(Problem(f"{_UNFIT}it holds no PEM certificate", str(path), _OTHER_FILE)) from None
