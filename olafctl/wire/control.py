"""Control messages between workers and the control plane (iSwitch, paper 001 table 2).

A control message is a UDP datagram with the reserved type of service; its payload is one byte of action and
an optional value. VNP4₁ punts it as a packet-in; the answer comes as a packet-out.
"""

from enum import IntEnum


class Action(IntEnum):
    """The first byte of a control message."""

    JOIN = 1
    LEAVE = 2
    RESET = 3
    SET_H = 4
    FBCAST = 5
    HELP = 6
    HALT = 7
    ACK = 8
