"""The host side of a front port, as a value."""

from dataclasses import dataclass

from olafswitch.ports.transport import Transport


@dataclass(frozen=True)
class Attachment:
    """Where a host outside reaches a front port."""

    number: int
    transport: Transport
    path: str
    """The host side: an interface name, a socket path, or a pcap path."""
    namespace: str | None = None
    """The network namespace of the host side's interface."""
