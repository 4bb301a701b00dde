"""One queue's decisions without time, for callers with a clock: ``olafctl/queue/native/rules.h``."""

from dataclasses import dataclass

import numpy as np

from olafctl.wire.modes import Mode
from olaflab.model.library import DISPOSITIONS, UPDATE, load


@dataclass(frozen=True)
class Update:
    """What the rules read of an update, and what leaves of it."""

    index: int
    """Of its cluster and segment."""
    worker: int
    """In rounds its number as a member."""
    seq: int
    """In rounds the round."""
    gen_time: int
    """ns modulo 2**48."""
    size: int
    """Bytes of the frame."""
    reward: int = 0
    """The bits of a binary32."""
    count: int = 1
    weights_version: int = 0
    """Version of the oldest constituent's weights, modulo 2**16; ``summed``, the sum of all constituents'."""
    aggregated: bool = False
    summed: bool = False


_FLAGS = ("aggregated", "summed")
_NUMBERS = tuple(name for name in Update.__dataclass_fields__ if name not in _FLAGS)


class Rules:
    """A queue of ``slots`` slots for indices 0 … ``indices`` - 1, empty, every index in OLAF mode.

    Sums of rounds that are not complete take at most ``quota`` slots.
    """

    def __init__(self, slots: int, indices: int, quota: int = 1) -> None:
        self._library = load()
        self._queue = self._library.olaf_rules_new(slots, indices, quota)
        self._indices = indices

    def close(self) -> None:
        """Free the queue's memory; it is not to be used after."""
        self._library.olaf_rules_free(self._queue)
        self._queue = None

    def set(
        self,
        mode: Mode,
        *,
        reward_rule: bool = False,
        threshold: float = 0.0,
        wanted: int = 1,
        stale_bound: int | None = None,
    ) -> None:
        """Settings of all indices from now on; ``wanted`` is H of rounds.

        An update of more versions ago than ``stale_bound`` is dropped; with None the staleness rule is off.
        """
        bound = -1 if stale_bound is None else stale_bound
        for index in range(self._indices):
            self._library.olaf_rules_set(
                self._queue, index, mode.number, reward_rule, threshold, wanted, bound
            )

    def acknowledged(self, index: int, version: int) -> None:
        """An ACK of ``index`` passes, with weights of ``version``."""
        self._library.olaf_rules_acknowledged(self._queue, index, version)

    def offer(self, update: Update) -> str:
        """An update arrives; one of DISPOSITIONS."""
        row = np.zeros(1, UPDATE)
        for name in vars(update):
            row[name] = getattr(update, name)
        return DISPOSITIONS[self._library.olaf_rules_offer(self._queue, row.ctypes.data)]

    def begin(self) -> Update | None:
        """The head begins to leave and is locked; None when nothing waits or another is leaving."""
        row = np.zeros(1, UPDATE)
        if not self._library.olaf_rules_begin(self._queue, row.ctypes.data):
            return None
        values = {name: int(row[name][0]) for name in _NUMBERS}
        return Update(**values, aggregated=bool(row["aggregated"][0]), summed=bool(row["summed"][0]))

    def leave(self) -> bool:
        """The update that leaves has left, and its slot is free; False when none was leaving."""
        return bool(self._library.olaf_rules_leave(self._queue))

    @property
    def occupancy(self) -> int:
        """Slots taken, by updates that wait or leave."""
        return int(self._library.olaf_rules_occupancy(self._queue))
