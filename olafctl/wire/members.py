"""What replicas say to one another (iSwitch §4, algorithm 1), defined once: no engine and no daemon reads it.

Datagrams of type of service 0 between the members of one training. The first byte is the action, below 16
and none of a control message, so that no Olaf header and no control message begins like it. ``line`` is the
identity of the numbering that the members share, and ``incarnation`` the sender's, by which what a program
sent before it was killed differs from what it sends now.
"""

from enum import IntEnum

from olafctl.wire.layouts import Field, Layout

Talk = IntEnum("Talk", "TELL ASK LACK GIVE FETCH PIECE", start=9)
Talk.__doc__ = "The first byte of a message between members."

_ACTION = Field("action", 8, "which message this is")
_LINE = Field("line", 32, "identity of the numbering that the number is of")
_INCARNATION = Field("incarnation", 48, "the sender's: its wall time in ms when it began")
_SEGMENT = Field("segment", 16, "segment of the model")
_NUMBER = Field("number", 64, "number of the result, from 1, without wrapping around")

TELL = Layout(
    "tell",
    "How a member stands, as often as every half second; `known` of all it knows follow",
    (
        _ACTION,
        Field("state", 8, "0 joining, 1 member, 2 opening a numbering, 3 has left, 4 has given up"),
        Field("wanted", 8, "1: an answer is wanted at once"),
        Field("digest", 64, "of what is trained and how; members with another one have nothing in common"),
        Field("era", 32, "how often a numbering was opened in this training; the largest counts"),
        Field("leader_addr", 32, "IPv4 address of the member that opened it"),
        Field("leader_port", 16, "its UDP port"),
        _LINE,
        _INCARNATION,
        Field("version", 64, "number of results applied"),
        Field("newest", 64, "the highest number of any segment that was seen or promised"),
        Field("chain", 32, "checksum of all results applied, and of the weights now and then"),
        Field("known", 16, "how many entries follow"),
    ),
)

KNOWN = Layout(
    "known",
    "One member that the sender of a `tell` knows",
    (
        Field("addr", 32, "IPv4 address"),
        Field("port", 16, "UDP port"),
        _INCARNATION,
        Field("banned", 8, "1: this incarnation and older ones count for nothing any more"),
    ),
)

ASK = Layout(
    "ask",
    "A result is missing here; a member that has it sends it",
    (
        _ACTION,
        Field("promise", 8, "1: a member that lacks it, too, takes it from members only from now on"),
        _SEGMENT,
        _NUMBER,
        _LINE,
        _INCARNATION,
    ),
)

LACK = Layout(
    "lack",
    "The answer of a member without that result",
    (
        _ACTION,
        Field("kind", 8, "0 not here yet, 1 promised, 2 applied so long ago that it is not kept"),
        _SEGMENT,
        _NUMBER,
        Field("given", 16, "contributions to the segment since its last result here"),
        Field("bans", 32, "checksum of the incarnations that count for nothing here"),
        _LINE,
        _INCARNATION,
    ),
)

GIVE = Layout(
    "give",
    "A result from a member; its sums follow",
    (
        _ACTION,
        _SEGMENT,
        _NUMBER,
        Field("count", 16, "worker updates in it; 0: all members agreed that none of them has it"),
        _LINE,
        _INCARNATION,
    ),
)

FETCH = Layout(
    "fetch",
    "Pieces of a member's state are wanted",
    (
        _ACTION,
        Field("what", 8, "0 a snapshot of the training, 1 what is trained and how, as text"),
        Field("version", 64, "of which version; of any if it is not kept"),
        Field("piece", 32, "the first one wanted, from 0"),
        Field("pieces", 16, "how many, from that on"),
    ),
)

PIECE = Layout(
    "piece",
    "A piece of a member's state; its bytes follow",
    (
        _ACTION,
        Field("what", 8, "as asked for"),
        Field("version", 64, "of the state"),
        Field("length", 32, "bytes of the whole"),
        Field("checksum", 32, "CRC-32 of the whole"),
        Field("piece", 32, "number of this piece, from 0; all but the last one are of one length"),
    ),
)

ALL = (TELL, KNOWN, ASK, LACK, GIVE, FETCH, PIECE)
