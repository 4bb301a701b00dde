"""Plans of runs that publish versions, and their outcomes."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed

NAME = "bench-weights"
Bits = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Plan:
    """A run; times in seconds."""

    players: int
    versions: int
    values: int
    share: float
    """Share of the values that a step changes by one unit in the last place."""
    loss: float
    """Share of datagrams lost on each player's link, in each direction."""
    kill: bool
    """A player gets SIGKILL after a quarter of the versions, and begins again after half."""
    late: bool
    """A player begins after a third of the versions."""
    levels: int
    target: str
    pace: float
    """Between two versions."""
    rate: float
    """Bytes a second that the publisher sends at most."""
    seed: int

    @property
    def events(self) -> list[tuple[int, str, int]]:
        """After so many versions, what happens to which player."""
        found = []
        if self.kill:
            found += [(self.versions // 4, "kill", 1), (self.versions // 2, "begin", 1)]
        if self.late:
            found.append((self.versions // 3, "begin", self.players - 1))
        return sorted(found)


@dataclass(frozen=True)
class Played:
    """What one player adopted: SHA-256 and seconds since it was published, by version."""

    name: str
    digests: dict[int, str]
    seconds: dict[int, float]
    counts: dict[str, int]


@dataclass(frozen=True)
class Published:
    """What the publisher did."""

    digests: dict[int, str]
    seconds: list[float]
    """That each call of ``publish`` took."""
    changed: int
    """Elements, over all versions but the first."""
    frames: int
    bytes: int
    repairs: int
    issued: int


@dataclass
class WeightsOutcome:
    """A run."""

    seconds: float = 0.0
    published: Published | None = None
    played: list[Played] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """Adopted versions whose bits differ from the published ones."""
        if self.published is None:
            return 0
        report = self.published.digests
        return sum(sha != report.get(v) for one in self.played for v, sha in one.digests.items())


class Task:
    """The model, and what a step changes of it."""

    def __init__(self, plan: Plan) -> None:
        self._random = np.random.default_rng(plan.seed)
        self._share = plan.share
        self.model = {"w": self._random.integers(0, 2**16, plan.values, np.uint16)}
        self.changed = 0

    def step(self) -> None:
        """Move random elements by one."""
        bits = self.model["w"]
        count = self._random.binomial(len(bits), self._share)
        where = np.unique(self._random.integers(0, len(bits), count))
        bits[where] += self._random.choice(np.array([1, 2**16 - 1], np.uint16), len(where))
        self.changed += len(where)


def make_testbed(plan: Plan) -> Testbed:
    """Make a testbed of one engine, or of two below a third one, with the players below."""
    engine = "indices: 16, slots: 16, beats: 22"
    if plan.levels == 1:
        text = f"""
name: {NAME}
target: {plan.target}
engine: {{{engine}}}
ports:
  - {{numbers: 1-{plan.players}, name: player, transport: veth}}
  - {{number: {plan.players + 1}, name: ps, transport: veth}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: 1, workers: {plan.players}, name: player, ports: 1-{plan.players}, ip: 10.0.1.1}}
"""
        return load_testbed(f"{NAME}.yaml", text)
    left = -(-plan.players // 2)
    racks = {1: range(left), 2: range(left, plan.players)}
    below = "".join(
        f"""
  - {{name: tor{rack}, {engine}, ports: [
      {{numbers: {100 * rack + 1}-{100 * rack + len(members)}, name: host, transport: veth}},
      {{number: {100 * rack + 99}, name: up{rack}}}]}}"""
        for rack, members in racks.items()
    )
    players = "".join(
        f"\n      - {{name: player-w{member}, port: host{100 * rack + place}, ip: 10.0.{rack}.{place}}}"
        for rack, members in racks.items()
        for place, member in enumerate(members, start=1)
    )
    text = f"""
name: {NAME}
target: {plan.target}
engines:
  - {{name: root, {engine}, ports: [
      {{numbers: 1-2, name: rack}}, {{number: 3, name: ps, transport: veth}}]}}{below}
links:
  - {{ends: [tor1.up1, root.rack1], rate: 10 Gb/s, delay: 1 us}}
  - {{ends: [tor2.up2, root.rack2], rate: 10 Gb/s, delay: 1 us}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - name: player
    workers:{players}
"""
    return load_testbed(f"{NAME}.yaml", text)
