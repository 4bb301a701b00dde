"""Means and spreads over runs, as JSON keeps them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Spread = tuple[float, float]
"""A mean over runs and its standard deviation."""


@dataclass(frozen=True)
class Figures:
    """Named figures of several runs."""

    runs: int
    values: Mapping[str, Spread]

    def as_json(self) -> dict[str, Any]:
        return {"runs": self.runs, "values": {name: list(pair) for name, pair in self.values.items()}}

    @staticmethod
    def of_json(kept: Mapping[str, Any]) -> "Figures":
        return Figures(
            kept["runs"], {name: (mean, spread) for name, (mean, spread) in kept["values"].items()}
        )

    def mean(self, name: str) -> float:
        return self.values[name][0]

    def text(self, name: str, digits: int = 0) -> str:
        """``mean ± deviation``; the deviation only where it is not zero at these digits."""
        mean, deviation = self.values[name]
        shown = f"{deviation:.{digits}f}"
        return f"{mean:.{digits}f}" if float(shown) == 0 else f"{mean:.{digits}f} ± {shown}"


def over(runs: Iterable[Mapping[str, float]]) -> Figures:
    """Means and spreads over runs with the same names, at least one."""
    found: Sequence[Mapping[str, float]] = list(runs)
    table = {name: np.array([run[name] for run in found]) for name in found[0]}
    return Figures(
        len(found), {name: (float(each.mean()), float(each.std())) for name, each in table.items()}
    )
