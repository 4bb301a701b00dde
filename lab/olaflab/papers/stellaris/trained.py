"""Finished trainings, kept by all that decides them: an interrupted comparison goes on where it was."""

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import olaf

from olaflab.papers.stellaris.learning import Run, run
from olaflab.papers.stellaris.rules import Rule, Scale
from olafswitch import cache

_FILE = "run.json"
_HERE, _SDK = Path(__file__).parent, Path(olaf.__file__).parent
_CODE = (
    *(_HERE / f"{name}.py" for name in ("learning", "play", "timeline")),
    *sorted((_SDK / "policies").glob("*.py")),
    *(_SDK / f"{name}.py" for name in ("torch/flat", "torch/importance")),
)
_PACKAGES = ("torch", "gymnasium", "mujoco")


@dataclass(frozen=True)
class Training:
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
        row: dict[str, Any] = json.loads((folder / _FILE).read_text())
        lists = {name: tuple(row[name]) for name in ("rewards", "moved")}
        return Run(**{**row, **lists}), built


def _installed(name: str) -> bool:
    try:
        version(name)
    except ImportError:
        return False
    return True
