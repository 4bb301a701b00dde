"""What OlafQueue keeps of a waiting update, and the codes by which its modules name what becomes of one.

``hdl/olaf_meta.vh`` and ``hdl/olaf_dispositions.vh`` are generated from this; widths of wire fields are taken
from the wire's layouts.
"""

from enum import IntEnum

from olafctl.wire.layouts import OLAF, TUSER, Field, Layout


def _from(layout: Layout, name: str, meaning: str | None = None, called: str | None = None) -> Field:
    found = layout.field(name)
    return Field(called or name, found.bits, meaning or found.meaning)


META = Layout(
    "meta",
    "What travels with a waiting update until it leaves",
    (
        *(_from(TUSER, name) for name in ("size", "src", "dst", "cluster", "worker")),
        Field("tracked", 1, "its cluster's table knows of it; not in FIFO mode"),
    ),
)

KEPT = Layout(
    "kept",
    "What is kept of a waiting update's header, for the decision about the next one of its cluster",
    (
        _from(OLAF, "count"),
        _from(OLAF, "reward"),
        Field("key", OLAF.field("reward").bits, "the reward as an unsigned number in the same order"),
        _from(OLAF, "gen_time"),
        _from(OLAF, "length"),
    ),
)


class Disposition(IntEnum):
    """What becomes of an update."""

    APPEND = 0
    MERGE = 1
    REPLACE_WORKER = 2
    REPLACE_REWARD = 3
    DROP_FULL = 8
    DROP_REWARD = 9
    DROP_MISMATCH = 10
    DROP_FAULT = 11


DISPOSITION_BITS = 4
IS_DROP = 3
"""The bit that is set in every disposition that drops."""


class Fault(IntEnum):
    """What is wrong with an update's own headers."""

    NONE = 0
    HEADER = 1
    LENGTH = 2
    OVERSIZE = 3
    CLUSTER = 4


FAULT_BITS = 3


class End(IntEnum):
    """How an update arrived to its end."""

    GOOD = 0
    TRUNCATED = 1
    OVERLONG = 2


END_BITS = 2
