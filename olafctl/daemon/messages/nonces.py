"""Which control messages are new: the replay window of keyed clusters.

A message's MAC does not cover the address it came from, so a nonce that one source used is refused of every
other. Nonces are wall times in ns: those within the window are remembered one by one, older ones are refused.
After a restart the window begins at the newest nonce that is stored.
"""

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from ipaddress import IPv4Address

from olafctl.daemon.membership import Membership
from olafctl.daemon.model import Row

WINDOW = 60 * 10**9
"""ns by which members' clocks may differ."""
_REMEMBERED = 65536

Look = Callable[[Callable[[Membership], Row | None]], Row | None]


class Freshness(Enum):
    """What a nonce says of its message."""

    NEW = "new"
    REPEATED = "the source's last message again"
    OLD = "replayed, or beyond the window"


def key(cluster: str, source: IPv4Address) -> str:
    """The row that keeps a source's newest nonce."""
    return f"nonce/{cluster}/{source}"


class Nonces:
    """The nonces of every cluster's messages."""

    def __init__(self, look: Look) -> None:
        """``look`` asks the membership, where the newest nonce of each source is stored."""
        self._look = look
        self._last: OrderedDict[tuple[str, IPv4Address], int] = OrderedDict()
        """Newest nonce of each source heard since the start."""
        self._seen: dict[str, OrderedDict[int, None]] = {}
        """Nonces used within each keyed cluster's window."""
        self._floor: dict[str, int] = {}
        """Of each keyed cluster: at or below it everything is refused."""

    def judge(self, cluster: str, source: IPv4Address, nonce: int, keyed: bool) -> Freshness:
        """Whether an authentic message is new. One that is not NEW leaves nothing behind."""
        last = self._last_of(cluster, source)
        if nonce == last:
            return Freshness.REPEATED
        if nonce < last:
            return Freshness.OLD
        if keyed and (nonce <= self._floor_of(cluster) or nonce in self._seen.get(cluster, ())):
            return Freshness.OLD
        return Freshness.NEW

    def use(self, cluster: str, source: IPv4Address, nonce: int, keyed: bool) -> None:
        """Remember the nonce of a message that is being carried out."""
        self._last[cluster, source] = nonce
        self._last.move_to_end((cluster, source))
        while len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        if not keyed:
            return
        seen = self._seen.setdefault(cluster, OrderedDict())
        seen[nonce] = None
        floor = max(self._floor_of(cluster), nonce - WINDOW)
        while len(seen) > _REMEMBERED:
            floor = max(floor, seen.popitem(last=False)[0])
        self._floor[cluster] = floor

    def _last_of(self, cluster: str, source: IPv4Address) -> int:
        if (cluster, source) in self._last:
            return self._last[cluster, source]
        row = self._look(lambda membership: membership.rows.get(key(cluster, source)))
        return int(row["last"]) if row else -1

    def _floor_of(self, cluster: str) -> int:
        if cluster not in self._floor:
            prefix = key(cluster, IPv4Address(0)).removesuffix("0.0.0.0")

            def newest(membership: Membership) -> Row:
                rows = (row for name, row in membership.rows.items() if name.startswith(prefix))
                return {"last": max((int(row["last"]) for row in rows), default=-1)}

            row = self._look(newest)
            assert row is not None
            self._floor[cluster] = int(row["last"])
        return self._floor[cluster]
