"""The kinds of front ports."""

from enum import StrEnum


class Transport(StrEnum):
    """A kind of front port."""

    VETH = "veth"
    TAP = "tap"
    UNIX = "unix"
    PCAP = "pcap"
    NIC = "nic"
