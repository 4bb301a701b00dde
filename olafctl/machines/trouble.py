"""Explain to people, from gRPC's details, why a client does not reach a daemon."""

CERTIFICATES = "OLAF_CERTS"
"""The environment variable with a client's folder of certificates."""

_OURS = f"give the folder of a client of its authority in {CERTIFICATES}: olafctl certs"
_TRUST = (
    ("certificate has expired", "its certificate has expired", "make another: olafctl certs"),
    ("not yet valid", "its certificate is not valid yet", "compare the two machines' clocks"),
    (
        "Hostname Verification",
        "its certificate is for another name or address",
        "reach it by one of those, or make another: olafctl certs … --host",
    ),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS", f"unset {CERTIFICATES}, or give the daemon --tls-cert"),
    ("security handshaker", f"the certificate in {CERTIFICATES} cannot be used", _OURS),
    ("handshake failed", "its certificate is not of this client's authority", _OURS),
    ("VERIFY_FAILED", "its certificate is not of this client's authority", _OURS),
)


def of_tls(details: str, certificate: bytes | None) -> tuple[str, str] | None:
    """Return the fault of TLS and its remedy, from the details of a call that found no daemon over TCP; None
    for another fault. ``certificate`` is the client's, None where it does not use TLS."""
    for sign, what, remedy in _TRUST:
        if sign.lower() in details.lower():
            return what, remedy
    if "Socket closed" not in details and "reset by peer" not in details:
        return None
    if certificate is not None:
        from olafswitch.p4runtime.tls import why_not_valid

        if why := why_not_valid(certificate):
            remedy = "compare the two machines' clocks" if "before" in why else "make another: olafctl certs"
            return f"it ends the connection: this client's certificate {why}", remedy
        return "it ends the connection: this client's certificate is of another authority", _OURS
    return "it ends the connection, as one that speaks TLS does", _OURS


def shorten_reason(details: str) -> str:
    """Return the reason itself, without the attempts that gRPC lists before it."""
    parts = [part for part in details.split(": ") if part and part != "OK"]
    return parts[-1] if parts else "no reason is given"
