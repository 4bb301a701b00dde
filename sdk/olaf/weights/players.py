"""A publisher's players, by their messages: which ones answer, are behind, or are slow.

A slow player, and one that is silent, is named once in the log, and no other player waits for it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from olaf.transport import wire
from olaf.transport.port import Address

_SILENT = 5.0
"""Seconds without a message after which a player counts as dead."""
_FORGOTTEN = 600.0
"""Seconds of silence after which a player is forgotten."""
_MOST = 1024
"""Players at once: without a key anybody can replay a player's message from any number of addresses."""
_MOST_NAMED = 8
"""Players that one look names in the log, one by one."""
_SLOW_EACH = 1.0
"""Seconds between two issues that are made for a slow player."""
_TIMES = 256
"""Versions whose time of publication is kept."""
_LOG = logging.getLogger("olaf")


@dataclass
class Player:
    """One player."""

    address: Address
    have: int = 0
    """Version that it checked last, of this publisher's line."""
    adopted: int = 0
    heard: float = 0.0
    """When, by the publisher's clock."""
    dead: bool = False
    slow: bool = False
    caught_up: float = float("-inf")
    """When an issue was last made for it."""

    @property
    def name(self) -> str:
        """Its address as text."""
        return f"{self.address[0]}:{self.address[1]}"


class Players:
    """Players of one publisher."""

    def __init__(self, max_lag: int) -> None:
        self.all: dict[Address, Player] = {}
        self._max_lag = max_lag
        self._full = False
        """Whether the log has named that there are too many."""
        self._published: dict[int, float] = {}
        """When versions were published, oldest first."""

    def note_version(self, version: int, now: float) -> None:
        """A version begins to be sent."""
        self._published[version] = now
        if len(self._published) > _TIMES:
            del self._published[next(iter(self._published))]

    def age(self, player: Player, now: float) -> float | None:
        """Seconds since the version that a player plays was published; None where that is not known."""
        when = self._published.get(player.adopted)
        return None if when is None else now - when

    def take_message(self, source: Address, want: wire.Want, line: int, now: float) -> Player | None:
        """Take a player's message: a new player, or a known one's state; None where there are too many."""
        player = self.all.get(source)
        if player is None:
            if len(self.all) >= _MOST and not self._forget_one():
                return None
            player = self.all[source] = Player(source)
            _LOG.info("player %s has joined", player.name)
        if player.dead:
            player.dead = False
            _LOG.warning("player %s is back", player.name)
        player.heard = now
        player.have = want.have if want.line == line else 0
        player.adopted = want.adopted if want.line == line else 0
        return player

    def _forget_one(self) -> bool:
        """Make room for a new player in place of the one that has been dead the longest, if any is."""
        dead = [player for player in self.all.values() if player.dead]
        if dead:
            del self.all[min(dead, key=lambda player: player.heard).address]
        elif not self._full:
            self._full = True
            _LOG.warning(
                "%d players are heard; others are ignored, because a key would tell them apart", _MOST
            )
        return bool(dead)

    def may_catch_up(self, player: Player) -> bool:
        """Whether an issue is made for it now: for a slow one not again at once, since that takes a scan."""
        due = player.heard >= player.caught_up + _SLOW_EACH * player.slow
        if due:
            player.caught_up = player.heard
        return due

    def look(self, sent: int, now: float) -> None:
        """Name those that are silent, or more than ``max_lag`` versions behind what was ``sent``."""
        silent = []
        for player in list(self.all.values()):
            if now - player.heard > _FORGOTTEN:
                del self.all[player.address]
            elif now - player.heard > _SILENT and not player.dead:
                player.dead = True
                silent.append(player.name)
            self._judge(player, sent)
        for name in silent[:_MOST_NAMED]:
            _LOG.warning("player %s has been silent for %g s; the others go on", name, _SILENT)
        if len(silent) > _MOST_NAMED:
            _LOG.warning("and so have %d other players", len(silent) - _MOST_NAMED)

    def _judge(self, player: Player, sent: int) -> None:
        slow = 0 < player.have < sent - self._max_lag
        if slow != player.slow and not player.dead:
            player.slow = slow
            if slow:
                _LOG.warning("player %s is %d versions behind; others go on", player.name, sent - player.have)
            else:
                _LOG.warning("player %s has caught up", player.name)

    @property
    def alive(self) -> list[Player]:
        """Players that are not silent."""
        return [player for player in self.all.values() if not player.dead]

    @property
    def target(self) -> Address | None:
        """The addressee of a frame to all: the one heard last is certainly a member."""
        alive = self.alive
        return max(alive, key=lambda player: player.heard).address if alive else None
