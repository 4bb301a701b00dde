"""Messages of replicas to one another (iSwitch §4, algorithm 1), defined once: no engine or daemon reads
them.

Datagrams of type of service 0 between the members of one training. The first byte is the action, below 16 and
none of a control message, so that no Olaf header and no control message begins like it. ``line`` is the
identity of the numbering that the members share, and ``incarnation`` the sender's: it tells a program's
messages from those that it sent before it was killed.
"""

from enum import IntEnum

from olafctl.wire.layouts import HeaderLayout, LayoutField

Talk = IntEnum("Talk", "TELL ASK LACK GIVE FETCH PIECE", start=9)
Talk.__doc__ = "The first byte of a message between members."

_ACTION = LayoutField("action", 8, "which message this is")
_LINE = LayoutField("line", 32, "identity of the numbering that the number is of")
_INCARNATION = LayoutField("incarnation", 48, "the sender's: its wall time in ms when it began")
_SEGMENT = LayoutField("segment", 16, "segment of the model")
_NUMBER = LayoutField("number", 64, "number of the result, from 1, without wrapping around")

TELL = HeaderLayout(
    "tell",
    "How a member stands, as often as every half second; `known` of all it knows follow",
    (
        _ACTION,
        LayoutField("state", 8, "0 joining, 1 member, 2 opening a numbering, 3 has left, 4 has given up"),
        LayoutField("wanted", 8, "1: an answer is wanted at once"),
        LayoutField(
            "digest", 64, "of what is trained and how; members with another one have nothing in common"
        ),
        LayoutField("era", 32, "how often a numbering was opened in this training; the largest counts"),
        LayoutField("leader_addr", 32, "IPv4 address of the member that opened it"),
        LayoutField("leader_port", 16, "its UDP port"),
        _LINE,
        _INCARNATION,
        LayoutField("version", 64, "number of results applied"),
        LayoutField("newest", 64, "the highest number of any segment that was seen or promised"),
        LayoutField("chain", 32, "checksum of all results applied, and of the weights now and then"),
        LayoutField("known", 16, "how many entries follow"),
    ),
)

KNOWN = HeaderLayout(
    "known",
    "One member that the sender of a `tell` knows",
    (
        LayoutField("addr", 32, "IPv4 address"),
        LayoutField("port", 16, "UDP port"),
        _INCARNATION,
        LayoutField("banned", 8, "1: this incarnation and older ones count for nothing any more"),
    ),
)

ASK = HeaderLayout(
    "ask",
    "A result is missing here; a member that has it sends it",
    (
        _ACTION,
        LayoutField("promise", 8, "1: a member that lacks it, too, takes it from members only from now on"),
        _SEGMENT,
        _NUMBER,
        _LINE,
        _INCARNATION,
    ),
)

LACK = HeaderLayout(
    "lack",
    "The answer of a member without that result",
    (
        _ACTION,
        LayoutField("kind", 8, "0 not here yet, 1 promised, 2 applied so long ago that it is not kept"),
        _SEGMENT,
        _NUMBER,
        LayoutField("given", 16, "contributions to the segment since its last result here"),
        LayoutField("bans", 32, "checksum of the incarnations that count for nothing here"),
        _LINE,
        _INCARNATION,
    ),
)

GIVE = HeaderLayout(
    "give",
    "A result from a member; its sums follow",
    (
        _ACTION,
        _SEGMENT,
        _NUMBER,
        LayoutField("count", 16, "worker updates in it; 0: all members agreed that none of them has it"),
        _LINE,
        _INCARNATION,
    ),
)

FETCH = HeaderLayout(
    "fetch",
    "Pieces of a member's state are wanted",
    (
        _ACTION,
        LayoutField("what", 8, "0 a snapshot of the training, 1 what is trained and how, as text"),
        LayoutField("version", 64, "of which version; of any if it is not kept"),
        LayoutField("piece", 32, "the first one wanted, from 0"),
        LayoutField("pieces", 16, "how many, from that on"),
    ),
)

PIECE = HeaderLayout(
    "piece",
    "A piece of a member's state; its bytes follow",
    (
        _ACTION,
        LayoutField("what", 8, "as asked for"),
        LayoutField("version", 64, "of the state"),
        LayoutField("length", 32, "bytes of the whole"),
        LayoutField("checksum", 32, "CRC-32 of the whole"),
        LayoutField("piece", 32, "number of this piece, from 0; all but the last one are of one length"),
    ),
)

ALL = (TELL, KNOWN, ASK, LACK, GIVE, FETCH, PIECE)
