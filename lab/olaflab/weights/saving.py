"""What sparse multicast weights would save a trainer and its players, and when another way is faster."""

from collections.abc import Mapping
from dataclasses import dataclass

from olaf.weights import issues

from olafctl.wire.layouts import ETHERNET, IPV4, UDP

_FAR = 0.1
"""Share of changed elements that move by more than one ulp: a byte more (bf16 at RL's learning rates)."""
_USED = 0.95
"""Share of a link that frames use."""
_INDEX = 6
"""Bytes of an index and a value, as the variants over NCCL send them."""


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
        payload = self.parameters * min(ulp, 1 + 2 * _FAR * self.changed, 2.0)
        each = self.mtu + ETHERNET.size
        return payload * each / issues.payload_room(self.mtu)


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
    """Every way, by its name. Copies of a full model cost no coding."""
    framed = (case.mtu + ETHERNET.size) / (case.mtu - IPV4.size - UDP.size)
    coding = case.full / case.encode + case.full / case.decode
    index = case.parameters * case.changed * _INDEX * framed
    ways = {
        "full, one by one": (case.full * framed * case.players, 0.0),
        "full, a ring or tree (NCCL)": (case.full * framed, 0.0),
        "index and value, one by one": (index * case.players, 0.0),
        "deltas, one by one": (case.delta * case.players, coding),
        "deltas, multicast (Olaf)": (case.delta, coding),
    }
    return {
        name: Way(sent, sent * 8 / (case.rate * _USED), sent * 8 / (case.rate * _USED) + work)
        for name, (sent, work) in ways.items()
    }


def give_advice(case: Case, ways: Mapping[str, Way]) -> str:
    """What to do, in a sentence."""
    olaf, ring = ways["deltas, multicast (Olaf)"], ways["full, a ring or tree (NCCL)"]
    if olaf.seconds >= ring.seconds:
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
