"""The ports at which each address is valid: the rule of docs/threats.md, for tests.

It knows nothing of tables and entries. The tests make their probes from it: frames on every target, and
control messages.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from olafctl.wire.control import Reason
from olafctl.wire.layouts import Flag, Refusal


class Name(StrEnum):
    """The owner of a frame's source address."""

    WORKER = "a worker"
    SERVER = "a parameter server"
    ENGINE = "the engine"
    BETWEEN = "240.0.0.0/8, in use"
    UNUSED = "240.0.0.0/8, not in use"
    HOST = "a host of `hosts`"
    UNKNOWN = "any other"


class RulePlace(StrEnum):
    """The port by which a frame comes in."""

    OWN = "its own port"
    OTHER = "another front port"
    ANY = "any front port"
    LINK = "its engine's link"
    BELOW = "another link from below"


class RuleFrame(StrEnum):
    """The kind of a frame, and then of a control message."""

    UPDATE = "UPDATE to a server or the engine"
    ANSWER = "ACK, RESULT to a worker"
    OTHER = "other IPv4"
    JOIN = "JOIN as worker, switch"
    JOIN_SERVER = "JOIN as server"
    LEAVE = "LEAVE"
    MESSAGE = "other messages"


class Fate(StrEnum):
    """The fate of a frame that is not refused."""

    QUEUE = "queue"
    MEMBERS = "each member"
    PASSES = "passes"


Verdict = Fate | Refusal | Reason


class Wrong(NamedTuple):
    """A part of a worker's UPDATE that must be right."""

    what: str
    must: str
    reason: Refusal
    fields: Sequence[Mapping[str, int | str]] = ()
    """The changes of a probe: Olaf header's fields, ``mac``, ``dport``, or epochs that it is ``later``."""


FRAMES = (RuleFrame.UPDATE, RuleFrame.ANSWER, RuleFrame.OTHER)
MESSAGES = (RuleFrame.JOIN, RuleFrame.JOIN_SERVER, RuleFrame.LEAVE, RuleFrame.MESSAGE)

_NOWHERE: Sequence[Verdict] = (*(Refusal.PORT,) * len(FRAMES), *(Reason.NOT_A_MEMBER,) * len(MESSAGES))
_PASSES: Sequence[Verdict] = (Fate.PASSES,) * len(FRAMES)
_FROM_BELOW: Sequence[Verdict] = (Fate.QUEUE, Fate.PASSES, Fate.PASSES)
_NO_MEMBER: Sequence[Verdict] = (Reason.BAD_MESSAGE, Reason.OK, Reason.NOT_A_MEMBER)

_ROWS: Mapping[tuple[Name, RulePlace], Sequence[Verdict]] = {
    (Name.WORKER, RulePlace.OWN): (*_FROM_BELOW, Reason.OK, Reason.BAD_MESSAGE, Reason.OK, Reason.OK),
    (Name.WORKER, RulePlace.OTHER): _NOWHERE,
    (Name.WORKER, RulePlace.BELOW): _FROM_BELOW,
    (Name.SERVER, RulePlace.OWN): (
        *(Fate.PASSES, Fate.MEMBERS, Fate.PASSES),
        *(Reason.FAILED, Reason.OK, Reason.OK, Reason.NOT_A_MEMBER),
    ),
    (Name.SERVER, RulePlace.OTHER): _NOWHERE,
    (Name.SERVER, RulePlace.BELOW): _NOWHERE[: len(FRAMES)],
    (Name.ENGINE, RulePlace.ANY): _NOWHERE,
    (Name.BETWEEN, RulePlace.LINK): _FROM_BELOW,
    (Name.BETWEEN, RulePlace.ANY): _NOWHERE,
    (Name.BETWEEN, RulePlace.BELOW): _NOWHERE[: len(FRAMES)],
    (Name.UNUSED, RulePlace.ANY): _NOWHERE,
    (Name.UNUSED, RulePlace.BELOW): _NOWHERE[: len(FRAMES)],
    (Name.HOST, RulePlace.OWN): (*_PASSES, Reason.FAILED, *_NO_MEMBER),
    (Name.HOST, RulePlace.OTHER): (*_PASSES, *(Reason.NOT_A_MEMBER,) * len(MESSAGES)),
    (Name.UNKNOWN, RulePlace.ANY): (*_PASSES, Reason.OK, *_NO_MEMBER),
}

TABLE: Mapping[tuple[Name, RulePlace, RuleFrame], Verdict] = {
    (*row, frame): verdict
    for row, verdicts in _ROWS.items()
    for frame, verdict in zip((*FRAMES, *MESSAGES), verdicts, strict=False)
}

UPDATES = (
    Wrong("IPv4 total length", "UDP length + 20", Refusal.LENGTH),
    Wrong("IPv4 header checksum", "right", Refusal.CHECKSUM),
    Wrong("TTL", "not 0", Refusal.TTL),
    Wrong(
        "MAC destination and UDP destination port",
        "the server's or the engine's",
        Refusal.DESTINATION,
        [{"mac": "02:00:99:99:99:98"}, {"dport": 41002}],
    ),
    Wrong(
        "count and flags",
        "1, and no flag but SUMMED; from below any",
        Refusal.MERGED,
        [
            {"count": 0},
            {"count": 9},
            {"count": 65535},
            {"flags": Flag.AGGREGATED},
            {"flags": Flag.STATUS},
            {"count": 9, "flags": Flag.AGGREGATED},
        ],
    ),
    Wrong("epoch", "the cluster's", Refusal.EPOCH, [{"later": 1}]),
    Wrong("segment", "of the cluster's model", Refusal.SEGMENT, [{"segment": 999}]),
)
"""The parts in the order in which they are checked."""


def verdict(name: Name, own: bool, frame: RuleFrame) -> Verdict:
    """Return the fate of a frame that comes in by the name's own front port, or another one."""
    place = RulePlace.OWN if own else RulePlace.OTHER
    return TABLE[name, place if (name, place, frame) in TABLE else RulePlace.ANY, frame]


def markdown() -> str:
    """Return both tables in the form of docs/threats.md."""
    lines = ["| source address | comes in by | " + " | ".join((*FRAMES, *MESSAGES)) + " |"]
    lines.append("|---" * (2 + len(FRAMES) + len(MESSAGES)) + "|")
    for (name, place), verdicts in _ROWS.items():
        cells = [_shown(verdict) for verdict in verdicts]
        cells += [""] * (len(FRAMES) + len(MESSAGES) - len(cells))
        lines.append(f"| {name} | {place} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "| of a worker's UPDATE to a server or the engine | must be | else refused |",
        "|---|---|---|",
    ]
    lines += [f"| {each.what} | {each.must} | {_shown(each.reason)} |" for each in UPDATES]
    return "\n".join(lines) + "\n"


def _shown(verdict: Verdict) -> str:
    match verdict:
        case Refusal():
            return f"✗ `{verdict.name.lower()}`"
        case Reason.OK:
            return "OK"
        case Reason():
            return f"✗ {verdict.name}"
        case _:
            return str(verdict)
