"""Distinguish new control messages from replayed ones: each source's nonces grow.

A message's MAC covers the address it came from, so a nonce has no use at another address. The newest nonce of
each source is stored, with the reason why its message was refused, so that a replay is refused after a
restart, too. In an open cluster, where any address may speak, only members' and servers' nonces are stored.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from ipaddress import IPv4Address

from olafctl.membership.membership import Membership
from olafctl.membership.model import Row
from olafctl.wire.control import CLOCKS_DIFFER, Reason

_REMEMBERED = 65536

Look = Callable[[Callable[[Membership], Row | None]], Row | None]
"""A question about the membership, as :meth:`olafctl.daemon.controller.Controller.look` takes it."""


class Freshness(Enum):
    """Whether a message is new, judged by its nonce."""

    NEW = "new"
    REPEATED = "the source's last message again"
    OLD = "replayed"
    AHEAD = "of a clock that is far ahead"


def key_of_nonce(cluster: str, source: IPv4Address) -> str:
    """Return the key of the row with a source's newest nonce."""
    return f"nonce/{cluster}/{source}"


class Nonces:
    """The newest nonce of each source in each cluster."""

    def __init__(self, look: Look) -> None:
        """Create the nonces; ``look`` asks the membership, where nonces are stored."""
        self._look = look
        self._last: OrderedDict[tuple[str, IPv4Address], int] = OrderedDict()
        """The newest nonce of each source heard since the start."""

    def judge_nonce(self, cluster: str, source: IPv4Address, nonce: int) -> Freshness:
        """Return whether an authentic message is new; a message that is not NEW leaves no trace."""
        if nonce > time.time_ns() + CLOCKS_DIFFER:
            return Freshness.AHEAD
        last = self._last_of(cluster, source)
        if nonce == last:
            return Freshness.REPEATED
        return Freshness.OLD if nonce < last else Freshness.NEW

    def use_nonce(self, cluster: str, source: IPv4Address, nonce: int) -> None:
        """Record the nonce of a message that is being carried out."""
        self._last[cluster, source] = nonce
        self._last.move_to_end((cluster, source))
        while len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)

    def stored_outcome(self, cluster: str, source: IPv4Address) -> Reason:
        """Return the answer to the message whose nonce is stored."""
        row = self._row_of(cluster, source)
        return Reason(row.get("reason", Reason.OK)) if row else Reason.OK

    def _last_of(self, cluster: str, source: IPv4Address) -> int:
        if (cluster, source) in self._last:
            return self._last[cluster, source]
        row = self._row_of(cluster, source)
        return int(row["last"]) if row else -1

    def _row_of(self, cluster: str, source: IPv4Address) -> Row | None:
        return self._look(lambda membership: membership.rows.get(key_of_nonce(cluster, source)))
