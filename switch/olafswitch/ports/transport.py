"""What a front port can be made of."""

from enum import StrEnum


class Transport(StrEnum):
    """What a front port is made of."""

    VETH = "veth"
    TAP = "tap"
    UNIX = "unix"
    PCAP = "pcap"
    NIC = "nic"
