"""What sparse multicast weights would save a trainer and its players, and when another way is faster."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from olaf.weights import issues

from olafctl.wire.layouts import ETHERNET, IPV4, UDP

_FAR = 0.1
"""Share of changed elements that move by more than one ulp: a byte more (bf16 at RL's learning rates)."""
_USED = 0.95
"""Share of a link that frames use."""
_INDEX = 6
"""Bytes of an index and a value, as the variants over NCCL send them."""
CODED = (
    (0.01, 1.35, 2.85),
    (0.068, 1.40, 2.13),
    (0.16, 1.15, 1.78),
    (0.35, 0.75, 1.34),
    (0.86, 0.74, 1.02),
)
"""Share of changed elements, and bytes for each by Olaf's best codec and by XOR with zstd-1."""
_XOR_CODING = 7 / 20
"""Time of coding by XOR and zstd, of that by Olaf's codecs: `olaflab bench weights --beside`."""
FAN_OUTS = (1, 4, 16, 64, 256)
OLAF, RING, XOR = "deltas, multicast (Olaf)", "full, a ring or tree (NCCL)", "XOR and zstd, one by one"


@dataclass(frozen=True)
class Case:
    """A trainer that publishes bf16 weights. Rates in bit/s, speeds in bytes of weights a second."""

    parameters: int
    changed: float
    """Share of the elements that a version changes."""
    players: int
    rate: int
    """Rate of the trainer's link."""
    interval: float
    """Seconds between two versions."""
    mtu: int
    encode: float
    """Encoding in the publisher's thread."""
    decode: float
    """Decoding in a player's thread, with applying and the digest."""

    @property
    def full(self) -> float:
        """Bytes of all weights."""
        return 2.0 * self.parameters

    @property
    def delta(self) -> float:
        """Bytes of a version on the wire, by the codec that is shortest, with all headers."""
        gap = 1 + 2 * (1 - self.changed) ** 254
        ulp = self.changed * (gap + 0.25 + _FAR)
        dense = _interpolated(self.changed, 1) if self.changed > CODED[1][0] else ulp
        payload = self.parameters * min(ulp, dense, 2.0)
        each = self.mtu + ETHERNET.size
        return payload * each / issues.payload_room(self.mtu)


def _interpolated(changed: float, column: int) -> float:
    """Interpolate the bytes for each element, changed or not."""
    shares = [0.0, *(row[0] for row in CODED), 1.0]
    each = [0.0, *(row[0] * row[column] for row in CODED), CODED[-1][column]]
    return float(np.interp(changed, shares, each))


@dataclass(frozen=True)
class Way:
    """What one way takes for a version."""

    sent: float
    """Bytes that the trainer sends."""
    wire: float
    """Seconds on the trainer's link."""
    seconds: float
    """Until all players have it installed."""


def compare_ways(case: Case) -> Mapping[str, Way]:
    """Compare every way. Full copies cost no coding; indices with values cost what XOR does."""
    framed = (case.mtu + ETHERNET.size) / (case.mtu - IPV4.size - UDP.size)
    coding = case.full / case.encode + case.full / case.decode
    index = case.parameters * case.changed * _INDEX * framed
    xored = case.parameters * _interpolated(case.changed, 2) * framed
    ways = {
        "full, one by one": (case.full * framed * case.players, 0.0),
        RING: (case.full * framed, 0.0),
        "index and value, one by one": (index * case.players, coding * _XOR_CODING),
        XOR: (xored * case.players, coding * _XOR_CODING),
        OLAF: (case.delta, coding),
        "deltas, one by one": (case.delta * case.players, coding),
    }
    return {
        name: Way(sent, sent * 8 / (case.rate * _USED), sent * 8 / (case.rate * _USED) + work)
        for name, (sent, work) in ways.items()
    }


def find_limit(case: Case) -> float:
    """Return the rate of the link, in bit/s, below which Olaf's deltas are the fastest way; 0 where at no
    rate."""
    ways = compare_ways(case)
    own, limits = ways[OLAF], [math.inf]
    for way in ways.values():
        slower = (own.seconds - own.wire) - (way.seconds - way.wire)
        if way.sent < own.sent:
            limits.append(0.0)
        elif slower > 0:
            limits.append(8 * (way.sent - own.sent) / (_USED * slower))
    return min(limits)


def find_limits(case: Case) -> Mapping[int, float]:
    """Find the limits for other numbers of players."""
    return {players: find_limit(replace(case, players=players)) for players in FAN_OUTS}


def give_advice(case: Case, ways: Mapping[str, Way]) -> str:
    """Say in a few sentences what to do."""
    limit = find_limit(case)
    below = (
        f"Deltas are the fastest way below {limit / 1e9:.3g} Gb/s"
        if limit
        else "Deltas are the fastest way at no rate"
    )
    players = f"{case.players} player{'s' * (case.players != 1)}"
    return f"{_choose_way(case, ways)} {below} with {players} and {case.changed:.1%} changed."


def _choose_way(case: Case, ways: Mapping[str, Way]) -> str:
    olaf, ring = ways[OLAF], ways[RING]
    fastest = min(ways, key=lambda name: ways[name].seconds)
    if fastest not in (OLAF, RING):
        return (
            f"Do not use deltas here: {fastest}, takes {ways[fastest].seconds:.3g} s, and they take "
            f"{olaf.seconds:.3g} s."
        )
    if fastest == RING:
        return (
            f"Stay with NCCL where every player shares its fabric: finding and applying a delta takes "
            f"{olaf.seconds - olaf.wire:.3g} s on the host, the whole model {ring.wire:.3g} s on this link. "
            "What is left to gain is that a dead player stops no other."
        )
    late = "" if olaf.seconds < case.interval else "; players are more than a version behind even so"
    return (
        f"Yes: every player has a version after {olaf.seconds:.3g} s, a ring of full copies takes "
        f"{ring.seconds:.3g} s and {ring.sent / olaf.sent:.3g} times the bytes{late}."
    )
