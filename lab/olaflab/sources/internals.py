"""What OlafQueue keeps of a waiting update, and the codes by which its modules name what becomes of one.

``hdl/olaf_meta.vh`` and ``hdl/olaf_dispositions.vh`` are generated from this; widths of wire fields are taken
from the wire's layouts.
"""

from enum import IntEnum

from olafctl.wire import modes
from olafctl.wire.layouts import OLAF, TUSER, HeaderLayout, LayoutField


def _fields_from(
    layout: HeaderLayout, name: str, meaning: str | None = None, called: str | None = None
) -> LayoutField:
    found = layout.field(name)
    return LayoutField(called or name, found.bits, meaning or found.meaning)


META = HeaderLayout(
    "meta",
    "What travels with a waiting update until it leaves",
    (
        *(
            _fields_from(TUSER, name)
            for name in ("size", "src", "dst", "cluster", "index", "member", "worker")
        ),
        LayoutField("tracked", 1, "its index's table knows of it: it came in OLAF mode"),
        LayoutField("result", 1, "it is the sum of an iSwitch round"),
    ),
)

KEPT = HeaderLayout(
    "kept",
    "What is kept of a waiting update's header, for the decision about the next one of its index",
    (
        _fields_from(OLAF, "count"),
        _fields_from(OLAF, "reward"),
        LayoutField("key", OLAF.field("reward").bits, "the reward as an unsigned number in the same order"),
        _fields_from(OLAF, "gen_time"),
        _fields_from(OLAF, "weights_version"),
        LayoutField("summed", 1, "weights_version is the sum of all constituents' versions"),
        _fields_from(TUSER, "size"),
    ),
)

PATCH = HeaderLayout(
    "patch",
    "The header fields that an aggregate gets",
    (
        _fields_from(OLAF, "count"),
        _fields_from(OLAF, "reward"),
        _fields_from(OLAF, "weights_version"),
        LayoutField("summed", 1, "weights_version is the sum of all constituents' versions"),
        _fields_from(OLAF, "seq"),
        LayoutField("numbered", 1, "it gets seq too"),
    ),
)


class Disposition(IntEnum):
    """What becomes of an update."""

    APPEND = 0
    MERGE = 1
    REPLACE_WORKER = 2
    REPLACE_REWARD = 3
    SUPERSEDE = 4
    DROP_FULL = 16
    DROP_REWARD = 17
    DROP_MISMATCH = 18
    DROP_FAULT = 19
    DROP_HALTED = 20
    DROP_MEMBER = 21
    DROP_DUPLICATE = 22
    DROP_LATE = 23
    DROP_QUOTA = 24
    DROP_STALE = 25


DISPOSITION_BITS = 5
IS_DROP = 4
"""The bit that is set in every disposition that drops."""


class Fault(IntEnum):
    """Faults of an update's own headers."""

    NONE = 0
    HEADER = 1
    LENGTH = 2
    OVERSIZE = 3
    INDEX = 4


FAULT_BITS = 3


SETTINGS = HeaderLayout(
    "settings",
    "The settings of an index",
    (
        LayoutField("mode", modes.BITS, modes.NUMBERS),
        LayoutField("halted", 1, "every update is dropped"),
        _fields_from(OLAF, "count", "H: worker updates that make a result", "threshold"),
        LayoutField("reward_enable", 1, "the reward rule applies"),
        _fields_from(OLAF, "reward", "rewards that differ by no more are comparable", "reward_threshold"),
        LayoutField("stale_enable", 1, "the staleness rule applies"),
        _fields_from(
            OLAF, "weights_version", "the greatest staleness of an update that is not dropped", "stale_bound"
        ),
    ),
)


class FrameEnd(IntEnum):
    """How an update arrived to its end."""

    GOOD = 0
    TRUNCATED = 1
    OVERLONG = 2


END_BITS = 2
