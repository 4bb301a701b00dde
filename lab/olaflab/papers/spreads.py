"""Means and standard deviations over runs of the event-level model, as JSON keeps them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Spread = tuple[float, float]
"""A mean over runs and its standard deviation."""


@dataclass(frozen=True)
class Spreads:
    """Named values of several runs, each a mean and a standard deviation."""

    runs: int
    values: Mapping[str, Spread]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"runs": self.runs, "values": {name: list(pair) for name, pair in self.values.items()}}

    @staticmethod
    def of_json(kept: Mapping[str, Any]) -> "Spreads":
        """Read what :meth:`as_json` returned."""
        values = {name: (mean, spread) for name, (mean, spread) in kept["values"].items()}
        return Spreads(kept["runs"], values)

    def mean_of(self, name: str) -> float:
        """Return one value's mean."""
        return self.values[name][0]

    def format_value(self, name: str, digits: int = 0) -> str:
        """Return ``mean ± deviation``, without a deviation that is zero at these digits."""
        mean, deviation = self.values[name]
        shown = f"{deviation:.{digits}f}"
        return f"{mean:.{digits}f}" if float(shown) == 0 else f"{mean:.{digits}f} ± {shown}"


def spread_over(runs: Iterable[Mapping[str, float]]) -> Spreads:
    """Return means and deviations over runs with the same names, at least one."""
    found: Sequence[Mapping[str, float]] = list(runs)
    table = {name: np.array([run[name] for run in found]) for name in found[0]}
    values = {name: (float(each.mean()), float(each.std())) for name, each in table.items()}
    return Spreads(len(found), values)
