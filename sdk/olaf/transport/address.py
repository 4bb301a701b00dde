"""Where to train: a parameter server's fixed address, or a cluster at an engine."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from olaf.errors import BadAddress
from olaf.transport import wire
from olaf.transport.port import Address

_CLUSTER_BYTES = 32


@dataclass(frozen=True)
class Cluster:
    """``olaf://cluster@engine[:port]``: the control plane sends the rest when a member joins."""

    name: str
    control: Address
    """Where control messages go."""


def parse(text: str) -> Address | Cluster:
    """Parse ``host``, ``host:port`` or ``olaf://cluster@engine[:port]``; the port is 20300 if not given.

    Raises BadAddress for any other form, port 0, and a host name that cannot be resolved.
    """
    if not text.startswith("olaf://"):
        return _resolve_host(text)
    name, at, engine = text[len("olaf://") :].rpartition("@")
    if not at or not name:
        raise BadAddress(f"{text!r} names no cluster; write olaf://cluster@engine")
    if len(name.encode()) > _CLUSTER_BYTES:
        raise BadAddress(f"cluster name {name!r} is longer than {_CLUSTER_BYTES} bytes")
    return Cluster(name, _resolve_host(engine))


def _resolve_host(text: str) -> Address:
    address = host_port(text)
    if not address[1]:
        raise BadAddress(f"{text!r}: no server can be at port 0")
    return address


def host_port(text: str) -> Address:
    """Resolve ``host`` or ``host:port`` to IPv4. Raises BadAddress."""
    form = re.fullmatch(r"([^:/@\s]+)(?::(\d{1,5}))?", text)
    port = int(form[2]) if form and form[2] else wire.UDP_PORT
    if not form or port > 65535:
        raise BadAddress(f"{text!r} is not an address: write host:port or olaf://cluster@engine")
    try:
        return socket.gethostbyname(form[1]), port
    except (OSError, UnicodeError) as failure:  # UnicodeError: of a label that is empty or too long
        raise BadAddress(f"{form[1]!r} cannot be resolved: {failure}") from None
