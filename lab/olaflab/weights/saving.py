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
OLAF, RING, XOR, INDEX = (
    "deltas, multicast (Olaf)", "full, a ring or tree (NCCL)", "XOR and zstd, one by one",
    "index and value, one by one",
)  # fmt: skip
CODECS = ("ulp", "deflated", "zstd")
"""The publisher chooses among these."""
CODED: Mapping[float, Mapping[str, tuple[float, float, float]]] = {
    0.016: {"ulp": (1.39, 1.06, 1.36), "deflated": (8.39, 0.29, 0.49), "zstd": (2.30, 0.85, 1.65),
            XOR: (2.64, 1.65, 3.07), INDEX: (6, 3.64, 38.8)},
    0.101: {"ulp": (1.41, 0.34, 0.39), "deflated": (1.56, 0.23, 0.35), "zstd": (1.57, 0.42, 0.77),
            XOR: (1.97, 0.49, 1.20), INDEX: (6, 2.63, 6.20)},
    0.47: {"ulp": (1.59, 0.08, 0.08), "deflated": (0.69, 0.13, 0.18), "zstd": (0.80, 0.21, 0.37),
           XOR: (1.19, 0.31, 0.85), INDEX: (6, 1.32, 1.24)},
    0.912: {"ulp": (2.09, 0.05, 0.04), "deflated": (0.82, 0.08, 0.13), "zstd": (0.77, 0.30, 0.44),
            XOR: (1.07, 0.31, 1.13), INDEX: (6, 0.89, 0.64)},
}  # fmt: skip
"""Bytes for each changed element, and GB of weights a second that a core encodes and decodes, by the share of
changed elements: `olaflab bench weights --codecs`."""
FAN_OUTS = (1, 4, 16, 64, 256)


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
    speed: float
    """How fast a core at either end is, times that of ``CODED``."""

    @property
    def full(self) -> float:
        """Bytes of all weights."""
        return 2.0 * self.parameters


@dataclass(frozen=True)
class Way:
    """What one way takes for a version."""

    sent: float
    """Bytes that the trainer sends."""
    wire: float
    """Seconds on the trainer's link."""
    seconds: float
    """Until all players have it installed."""
    codec: str = ""
    """The one of Olaf's that the publisher chooses."""


def compare_ways(case: Case) -> Mapping[str, Way]:
    """Return every way by its name. Full copies cost no coding."""
    framed = (case.mtu + ETHERNET.size) / (case.mtu - IPV4.size - UDP.size)
    ways = {
        "full, one by one": _make_way(case, case.full * framed * case.players, 0.0),
        RING: _make_way(case, case.full * framed, 0.0),
        INDEX: _make_way(case, _size_of(case, INDEX) * framed * case.players, _coding_of(case, INDEX)),
        XOR: _make_way(case, _size_of(case, XOR) * framed * case.players, _coding_of(case, XOR)),
    }
    for name, copies in ((OLAF, 1), ("deltas, one by one", case.players)):
        ways[name] = min(_by_codecs(case, copies), key=lambda way: way.seconds)
    return ways


def _by_codecs(case: Case, copies: int) -> list[Way]:
    """Return what Olaf's deltas take by each of its codecs."""
    framed = (case.mtu + ETHERNET.size) / issues.payload_room(case.mtu)
    return [
        _make_way(case, _size_of(case, codec) * framed * copies, _coding_of(case, codec), codec)
        for codec in CODECS
    ]


def _make_way(case: Case, sent: float, coding: float, codec: str = "") -> Way:
    wire = sent * 8 / (case.rate * _USED)
    return Way(sent, wire, wire + coding, codec)


def _size_of(case: Case, codec: str) -> float:
    """Return the bytes of a version."""
    if codec == "ulp" and case.changed < min(CODED):  # the fewer changed, the longer the gaps
        return case.parameters * case.changed * (1.25 + 2 * (1 - case.changed) ** 254 + _FAR)
    shares = [0.0, *CODED, 1.0]
    each = [0.0, *(share * row[codec][0] for share, row in CODED.items())]
    return case.parameters * float(np.interp(case.changed, shares, [*each, each[-1]]))


def _coding_of(case: Case, codec: str) -> float:
    """Return the seconds that encoding and decoding take together."""
    each = [1 / row[codec][1] + 1 / row[codec][2] for row in CODED.values()]
    return case.full / 1e9 / case.speed * float(np.interp(case.changed, [*CODED], each))


def find_limit(case: Case) -> float:
    """Return the rate of the link, in bit/s, below which Olaf's deltas are the fastest way; 0 for none."""
    # Both are the least of some lines over the time that a bit takes: from the last crossing on, one is.
    own = [(way.sent, way.seconds - way.wire) for way in _by_codecs(case, 1)]
    ways = compare_ways(case)
    others = [(ways[name].sent, ways[name].seconds - ways[name].wire) for name in (RING, XOR, INDEX)]
    crossings = [
        (own_work - work) / (sent - own_sent)
        for own_sent, own_work in own
        for sent, work in others
        if sent != own_sent
    ]
    for crossing in sorted(each for each in crossings if each > 0)[::-1]:
        least, other = (
            min(sent * crossing * (1 - 1e-6) + work for sent, work in lines) for lines in (own, others)
        )
        if least > other:
            return 8 / (_USED * crossing) if min(own)[0] <= min(others)[0] else 0.0
    return math.inf if min(own)[0] <= min(others)[0] else 0.0


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
        f"Yes: every player has a version after {olaf.seconds:.3g} s by {olaf.codec}, a ring of full copies "
        f"takes {ring.seconds:.3g} s and {ring.sent / olaf.sent:.3g} times the bytes{late}."
    )
