"""Finished trainings, kept by all that decides them: an interrupted comparison goes on where it was."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import olaf

from olafctl import cache
from olafctl.errors import BadInput, Problem
from olaflab.training.staleness.learning import Run, run
from olaflab.training.staleness.rules import Rule, Scale

_FILE = "run.json"
_HERE, _SDK = Path(__file__).parent, Path(olaf.__file__).parent
_CODE = (
    *(_HERE / f"{name}.py" for name in ("learning", "play", "timeline")),
    *sorted((_SDK / "policies").glob("*.py")),
    *(_SDK / f"{name}.py" for name in ("flat", "importance", "optimizing")),
)
_PACKAGES = ("torch", "gymnasium", "mujoco")


@dataclass(frozen=True)
class Asked:
    """One training."""

    rule: Rule
    seed: int
    rounds: int
    environment: str
    scale: Scale
    moves: bool = False

    def found(self) -> tuple[Run, bool]:
        """What it gave, and whether it was made just now."""
        installed = [f"{name} {version(name)}" for name in _PACKAGES if _installed(name)]
        key = cache.digest([repr(self), *installed, *_CODE])

        def build(work: Path) -> None:
            made = run(self.rule, self.seed, self.rounds, self.environment, self.scale, self.moves)
            (work / _FILE).write_text(json.dumps(asdict(made)))

        folder, built = cache.build_once("stellaris", key, build)
        return of_json(json.loads((folder / _FILE).read_text())), built


def of_json(row: dict[str, Any]) -> Run:
    """A run as ``--json`` has it. Raises TypeError for what is none."""
    rewards, moved = tuple(row["rewards"]), tuple(row.get("moved", ()))
    return Run(**{**row, "rewards": rewards, "moved": moved})


def read(paths: Sequence[Path]) -> dict[tuple[str, int], Run]:
    """Runs that ``--json`` printed into files, by rule and seed. Raises BadInput for a file of others."""
    found: dict[tuple[str, int], Run] = {}
    for path in paths:
        try:
            rows = json.loads(path.read_text())
            for row in rows["runs"] if isinstance(rows, dict) else rows:
                one = of_json(row)
                found[one.rule, one.seed] = one
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise BadInput(Problem("has no runs of it", str(path), "give what --json printed")) from error
    return found


def _installed(name: str) -> bool:
    try:
        version(name)
    except ImportError:
        return False
    return True
