"""Control messages (iSwitch §3.2, table 2), defined once: membership, settings and recovery on the wire.

A control message is a UDP datagram whose IPv4 ToS is ``layouts.CONTROL_TOS``. Its payload is one of the
layouts below, in network order; the first byte is the action, so its version nibble is 0 and no Olaf
header begins like it. VNP4₁ punts it to the control plane, which answers with an ACK.

``mac`` is the first 16 bytes of HMAC-SHA256 under the cluster's key; all zero where the cluster has none. It
covers the member's IPv4 address (4 bytes) and UDP port (2), then all bytes of the message before it: what one
member sent or was sent is worth nothing at another address. Between a member and the engine nothing may
translate addresses. A sender's nonces grow: its wall time in ns, or its last nonce plus one. A message
with the last nonce again is a repetition and is answered again; one with a smaller nonce is refused, and so
is one that is more than CLOCKS_DIFFER ahead of the daemon's clock, or it would end the sender's nonces. An
ACK repeats the nonce it answers.
"""

from enum import IntEnum

from olafctl.wire.layouts import HeaderLayout, LayoutField


class ControlAction(IntEnum):
    """The first byte of a control message."""

    JOIN = 1
    LEAVE = 2
    RESET = 3
    SET_H = 4
    FBCAST = 5
    HELP = 6
    HALT = 7
    ACK = 8
    REPORT = 0


class MemberRole(IntEnum):
    """The role of a member."""

    WORKER = 0
    SWITCH = 1
    PARAMETER_SERVER = 2
    PLAYER = 3


class Reason(IntEnum):
    """The reason why a message was refused; OK when it was not."""

    OK = 0
    BAD_MESSAGE = 1
    UNKNOWN_CLUSTER = 2
    BAD_MAC = 3
    OLD_NONCE = 4
    CLUSTER_FULL = 5
    WRONG_MODEL_LENGTH = 6
    NOT_A_MEMBER = 7
    OBJECTIVE_VIOLATED = 8
    FAILED = 9
    CLOCK_AHEAD = 10


CLOCKS_DIFFER = 3600 * 10**9
"""The ns that a sender's clock may be ahead of the daemon's."""
ALL_SEGMENTS = 0xFFFF
"""The ``segment`` that means every segment of the cluster."""
NOT_KNOWN = 0xFFFFFFFF
"""The ``age`` that means none is known."""

_ACTION = LayoutField("action", 8, "which message this is")
_CLUSTER = LayoutField("cluster", 256, "cluster name, UTF-8, padded with zero bytes")
_SEGMENT = LayoutField("segment", 16, "segment of the model; 65535: all of them")
_NONCE = LayoutField("nonce", 64, "larger than the sender's last one: its wall time in ns")
_MAC = LayoutField(
    "mac",
    128,
    "HMAC-SHA256 of member's address, port and all bytes before it, first 16 bytes; zero without a key",
)

JOIN = HeaderLayout(
    "join",
    "Join the training job; a member that joins again is given the same number",
    (
        _ACTION,
        LayoutField("role", 8, "0 worker, 1 switch, 2 parameter server, 3 player"),
        _CLUSTER,
        LayoutField("values", 32, "model length in values; 0 if not known"),
        _NONCE,
        _MAC,
    ),
)

LEAVE = HeaderLayout("leave", "Leave the training job", (_ACTION, _CLUSTER, _NONCE, _MAC))

RESET = HeaderLayout(
    "reset", "Discard what the engine has accumulated of a segment", (_ACTION, _SEGMENT, _NONCE, _MAC)
)

SET_H = HeaderLayout(
    "set_h",
    "Set the aggregation threshold H",
    (_ACTION, LayoutField("threshold", 16, "worker updates that make one result"), _NONCE, _MAC),
)

FBCAST = HeaderLayout(
    "fbcast", "Release the partial sum of a segment as it is now", (_ACTION, _SEGMENT, _NONCE, _MAC)
)

HELP = HeaderLayout(
    "help",
    "A round gave no result here; a member that has it sends the asker a RESULT frame",
    (
        _ACTION,
        _SEGMENT,
        LayoutField("round", 32, "the round asked for"),
        LayoutField("asker_addr", 32, "IPv4 address of the asker; 0 from the asker, set when forwarded"),
        LayoutField("asker_port", 16, "UDP port of the asker; 0 from the asker, set when forwarded"),
        _NONCE,
        _MAC,
    ),
)

HALT = HeaderLayout(
    "halt",
    "Suspend or resume the training job on all workers",
    (_ACTION, LayoutField("halted", 8, "1 suspend, 0 resume"), _NONCE, _MAC),
)

ACK = HeaderLayout(
    "answer",
    "The control plane's answer to any of the others (iSwitch calls it Ack)",
    (
        _ACTION,
        LayoutField("answered", 8, "the action this answers"),
        LayoutField("reason", 8, "0 done; otherwise why not"),
        LayoutField("epoch", 8, "job epoch to put into every frame, 0 … 15"),
        LayoutField("member", 8, "the member's number in its cluster"),
        LayoutField("threshold", 16, "H, the worker updates that make one result"),
        LayoutField("segments", 16, "segments the model is divided into"),
        LayoutField("server_addr", 32, "IPv4 address of the cluster's parameter server"),
        LayoutField("server_port", 16, "its UDP port"),
        _NONCE,
        _MAC,
    ),
)

REPORT = HeaderLayout(
    "report",
    "How one player of the sender's weights stands; from a publisher, several a second, without an answer",
    (
        _ACTION,
        LayoutField("state", 8, "bit 0: it is slow, bit 1: it is dead, which is silent for 5 s"),
        _CLUSTER,
        LayoutField("player_addr", 32, "IPv4 address of the player"),
        LayoutField("player_port", 16, "UDP port of the player"),
        LayoutField("version", 32, "that it plays; 0: none"),
        LayoutField("lag", 32, "versions that this is behind the newest one"),
        LayoutField("age", 32, "ms since that version was published; 4294967295: not known"),
        _NONCE,
        _MAC,
    ),
)

ALL = (JOIN, LEAVE, RESET, SET_H, FBCAST, HELP, HALT, ACK, REPORT)
