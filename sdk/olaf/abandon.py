"""A round whose result reached no member, where no control plane can have it made again (fixed addresses).

The engine has finished the round and drops what comes late, so the members contribute again under the next
number. All must do so or none: a sum of one member's first chunk and another's second would be wrong without
a word. So it takes two steps. A member that has heard of every other one that it lacks the result, too,
*abandons* the round: from then on it takes the result from a member that has it, and no longer from the
engine. A member that has the result never abandons. Hence, once all have abandoned a round, no one has its
result and no one will, and each goes on to the next number when it has heard so of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from olaf.port import Address


@dataclass
class Abandoning:
    """What a member knows, in one lane, of the others in its current round."""

    mine: bool = False
    """Whether this member has abandoned it."""
    last: int | None = None
    """The round before this one, if all abandoned it: a member that does not know yet must be told."""
    _lacking: set[Address] = field(default_factory=set)
    _abandoned: set[Address] = field(default_factory=set)

    def begin(self, after: int | None = None) -> None:
        """A new round; ``after`` the one that all abandoned."""
        self.mine, self.last = False, after
        self._lacking.clear()
        self._abandoned.clear()

    def heard(self, peer: Address, abandons: bool, peers: Iterable[Address]) -> bool:
        """A peer lacks the result, and perhaps abandons the round. Whether this member now abandons it."""
        self._lacking.add(peer)
        if abandons:
            self._abandoned.add(peer)
        now = not self.mine and self._lacking >= set(peers)
        self.mine |= now
        return now

    def agreed(self, peers: Iterable[Address]) -> bool:
        """Whether all members have abandoned the round."""
        return self.mine and self._abandoned >= set(peers)
