"""A certificate authority for daemons and agents, and its pairs for servers and for clients, each with a
role."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from olafswitch.errors import BadInput, OlafError, Problem

_CLOCK_SKEW = timedelta(minutes=5)
_AUTHORITY_DAYS = 3650
"""More days than its pairs last: with a new authority every pair has to be made again."""
CA, CA_KEY = "ca.pem", "ca.key"


def issue_pair(
    folder: Path, name: str, hosts: tuple[str, ...], days: int, role: str = "operator"
) -> list[Path]:
    """Write ``NAME.pem`` and ``NAME.key`` in ``folder``, signed by its authority, which is made if missing.

    With ``hosts`` (names and addresses at which it answers) the pair is a server's, else a client's, which
    has the rights of ``role``. Raises BadInput when there is such a pair already or the name is a path,
    OlafError when a file cannot be used.
    """
    if not name or Path(name).name != name:
        raise BadInput(Problem(f"{name!r} is not a file name", "NAME", "write it without a folder"))
    pair = [folder / f"{name}.pem", folder / f"{name}.key"]
    if name == "ca" or any(path.exists() for path in pair):
        what = f"there is a pair called {name!r} already"
        raise BadInput(Problem(what, str(folder), "choose another name, or remove both files to renew it"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / CA).exists():
            _make_authority(folder, max(days, _AUTHORITY_DAYS))
        authority = x509.load_pem_x509_certificate((folder / CA).read_bytes())
        signer = serialization.load_pem_private_key((folder / CA_KEY).read_bytes(), None)
        if not isinstance(signer, ec.EllipticCurvePrivateKey):
            raise ValueError("is not an elliptic-curve key")
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        subject = _name_subject(name, "" if hosts else role)
        builder = _begin_certificate(subject, authority.subject, key.public_key(), days)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
        if hosts:
            names = x509.SubjectAlternativeName([_host_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        _write_pair(pair, builder.sign(signer, hashes.SHA256()), key)
    except (OSError, ValueError) as error:
        raise OlafError(Problem(f"cannot be used: {error}", str(folder), "name an empty folder")) from None
    return pair


def _make_authority(folder: Path, days: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name_subject("Olaf daemon authority")
    builder = _begin_certificate(subject, subject, key.public_key(), days)
    builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
    _write_pair([folder / CA, folder / CA_KEY], builder.sign(key, hashes.SHA256()), key)


def _begin_certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def role_of(certificate: bytes) -> str:
    """Return the role that a PEM certificate names; empty where it names none."""
    subject = x509.load_pem_x509_certificate(certificate).subject
    named = subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    return str(named[0].value) if len(named) == 1 else ""


def _name_subject(name: str, role: str = "") -> x509.Name:
    unit = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, role)] if role else []
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name), *unit])


def _host_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write_pair(pair: list[Path], certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    public, private = pair
    private.touch(mode=0o600, exist_ok=False)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
