"""A publisher's players, by their messages: which ones answer, are behind, or are slow.

A slow player, and one that is silent, is named once in the log, and no other player waits for it.

Without a key a message may be a replayed one, from any address. So its sender is a candidate, which gets one
frame of the newest version, until a message names a version that was new a moment ago. Before the first
version nothing tells them apart, and each sender counts.
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
_MOST, _MOST_CANDIDATES = 1024, 64
"""Players at once, and candidates that are remembered."""
_FRESH = 5.0
"""Seconds for which a message may name a version that is no longer the newest."""
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
    zstd: bool = True
    """Whether it decodes the codec of that name."""
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
        self.candidates: dict[Address, None] = {}
        """Senders of messages that prove nothing, the latest last."""
        self._max_lag = max_lag
        self._full = False
        """Whether the log has named that there are too many."""
        self._published: dict[int, float] = {}
        """When versions were published, oldest first."""

    def note_version(self, version: int, now: float) -> None:
        """Note that a version begins to be sent."""
        self._published[version] = now
        if len(self._published) > _TIMES:
            del self._published[next(iter(self._published))]

    def age(self, player: Player, now: float) -> float | None:
        """Return the seconds since a player's version was published; None where that is not known."""
        when = self._published.get(player.adopted)
        return None if when is None else now - when

    def take_message(self, source: Address, want: wire.Want, line: int, now: float) -> Player | None:
        """Take a message: of a known player, or one that now is proven; None for a candidate's."""
        player = self.all.get(source)
        if player is None or player.dead:
            if not self._proves(want, line, now) or (player is None and not self._make_room()):
                self.candidates.pop(source, None)
                self.candidates[source] = None
                if len(self.candidates) > _MOST_CANDIDATES:
                    del self.candidates[next(iter(self.candidates))]
                return None
            self.candidates.pop(source, None)
        if player is None:
            player = self.all[source] = Player(source)
            _LOG.info("player %s has joined", player.name)
        if player.dead:
            player.dead = False
            _LOG.warning("player %s is back", player.name)
        if player.zstd and not want.decodes & 1:
            _LOG.info("player %s has no zstd; versions for it take other codecs", player.name)
        player.zstd = bool(want.decodes & 1)
        player.heard = now
        player.have = want.have if want.line == line else 0
        player.adopted = want.adopted if want.line == line else 0
        return player

    def _proves(self, want: wire.Want, line: int, now: float) -> bool:
        """Return whether a message names the newest version, or one that was newest a moment ago; any message
        counts before the first version."""
        if not self._published:
            return True
        named = max(want.have, want.adopted, want.version)
        newest = next(reversed(self._published), None)
        when = self._published.get(named)
        return want.line == line and when is not None and (named == newest or now - when < _FRESH)

    def _make_room(self) -> bool:
        """Return whether there is room for a new player; forget the one that has been dead the longest if
        needed."""
        if len(self.all) < _MOST:
            return True
        dead = [player for player in self.all.values() if player.dead]
        if dead:
            del self.all[min(dead, key=lambda player: player.heard).address]
        elif not self._full:
            self._full = True
            _LOG.warning(
                "%d players are heard; others are not counted, and a key would tell them apart", _MOST
            )
        return bool(dead)

    def may_catch_up(self, player: Player) -> bool:
        """Return whether an issue is made for a player now: for a slow one not again at once, since that
        takes a scan."""
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
    def targets(self) -> list[Address]:
        """Addressees of a frame to all, candidates only where there is no player: the last one is certainly a
        member of the cluster, as far as any is."""
        alive = sorted(self.alive, key=lambda player: player.heard)
        return [player.address for player in alive] or list(self.candidates)
