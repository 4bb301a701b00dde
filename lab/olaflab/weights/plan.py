"""Plans of runs that publish versions, and their outcomes."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from olaflab import racks

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
        return racks.list_events(self.versions, self.players, kill=self.kill, late=self.late)


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
