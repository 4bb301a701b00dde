"""An update in the queue, and how others are merged into it."""

from dataclasses import dataclass

import numpy as np

from olafctl.wire.layouts import Flag
from olaftest.queue.golden.frames import GoldenUpdate, Gradients, header_field, with_fields, without_checksum
from olaftest.queue.golden.reward import Reward
from olaftest.queue.model import Sidecar

COUNT_LIMIT = 65535
_CANONICAL_NAN = np.uint32(0x7FC00000)


def add_gradients(left: Gradients, right: Gradients) -> Gradients:
    """Add in binary32; each NaN is the canonical quiet one."""
    with np.errstate(all="ignore"):
        total = left + right
    total.view(np.uint32)[np.isnan(total)] = _CANONICAL_NAN
    return total


def newer_or_same(one: int, other: int, bits: int) -> bool:
    """Return whether ``one`` is newer than or as new as ``other``, in serial-number arithmetic."""
    return (one - other) % (1 << bits) < 1 << bits - 1


def _sum_versions(one: bytes, other: bytes) -> tuple[int, int]:
    """Return ``weights_version`` of the sum of two updates, and its flag SUMMED.

    Two sums are added; of two oldest versions the older counts. Where only one is a sum nothing is known of
    the versions in it, so what is left is the other's oldest.
    """
    versions = [header_field(header, "weights_version") for header in (one, other)]
    sums = [bool(header_field(header, "flags") & Flag.SUMMED) for header in (one, other)]
    if all(sums):
        return sum(versions) % (1 << 16), Flag.SUMMED
    if any(sums):
        return versions[sums.index(False)], 0
    return versions[1] if newer_or_same(versions[0], versions[1], 16) else versions[0], 0


def _mark_header(header: bytes) -> bytes:
    """Mark ``header`` as that of a sum."""
    return without_checksum(with_fields(header, flags=header_field(header, "flags") | Flag.AGGREGATED))


@dataclass(eq=False)
class WaitingUpdate:
    """An update in the queue, perhaps the sum of several."""

    sidecar: Sidecar
    header: bytes
    gradients: Gradients
    reward: Reward
    replaceable_by: int | None
    """The worker whose next update may replace it."""
    tracked: bool
    """Later updates of its index may be merged with it."""
    begun: bool = False
    """It has begun to leave."""

    @classmethod
    def alone(cls, update: GoldenUpdate, reward: Reward, tracked: bool) -> "WaitingUpdate":
        """Return the update as it waits by itself."""
        by = None if update.aggregated else update.sidecar.worker
        header = _mark_header(update.header) if update.weighed else update.header
        return cls(update.sidecar, header, update.gradients, reward, by, tracked)

    @property
    def frame(self) -> bytes:
        return self.header + self.gradients.astype("<f4").tobytes()

    @property
    def count(self) -> int:
        return header_field(self.header, "count")

    def aggregate(self) -> None:
        """Mark it as a sum, also when it is of one update."""
        self.header = _mark_header(self.header)
        self.replaceable_by = None

    def replace(self, update: GoldenUpdate, reward: Reward) -> None:
        """Replace the waiting update by ``update`` in its place in line."""
        alone = WaitingUpdate.alone(update, reward, self.tracked)
        self.sidecar, self.header, self.gradients = alone.sidecar, alone.header, alone.gradients
        self.reward, self.replaceable_by = alone.reward, alone.replaceable_by

    def merge(self, update: GoldenUpdate, reward: Reward) -> tuple[bool, bool]:
        """Add ``update``; whether it was the newer, and whether the count stopped at its limit."""
        count = self.count + header_field(update.header, "count")
        if reward.rank > self.reward.rank:
            self.reward = reward
        weights_version, summed = _sum_versions(update.header, self.header)
        newer = newer_or_same(
            header_field(update.header, "gen_time"), header_field(self.header, "gen_time"), 48
        )
        if newer:
            self.sidecar, self.header = update.sidecar, update.header
        merged = {
            "count": min(count, COUNT_LIMIT),
            "reward": self.reward.bits,
            "weights_version": weights_version,
            "flags": header_field(self.header, "flags") & ~Flag.SUMMED | summed | Flag.AGGREGATED,
        }
        self.header = without_checksum(with_fields(self.header, **merged))
        # What did not arrive adds nothing: -0 leaves every number as it is.
        self.gradients = add_gradients(
            self.gradients, np.where(update.arrived, update.gradients, np.float32("-0.0"))
        )
        self.replaceable_by = None
        return newer, count > COUNT_LIMIT
