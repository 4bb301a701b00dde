"""What docs/stellaris.md says is what the figures' files hold."""

import json
import re
from pathlib import Path

import pytest

from olafctl import paths

DOCS = paths.sources() / "docs"
KEPT = sorted((DOCS / "reproduction").glob("stellaris-*.json"))
PAGE = (DOCS / "stellaris.md").read_text()
ESTIMATE = re.compile(r"-?\d+\.\d ± \d+\.\d")


def estimates(path: Path) -> set[str]:
    """Of a figure's table and its further ones, as the page shows them."""
    figure = json.loads(path.read_text())
    own = [cell for row in figure["rows"] for cell in row.values() if isinstance(cell, dict)]
    more = " ".join(cell for table in figure["tables"] for row in table["rows"] for cell in row)
    return {f"{cell['mean']:.1f} ± {cell['interval']:.1f}" for cell in own} | set(ESTIMATE.findall(more))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.stem))
def test_every_figure_is_shown_with_its_picture(path: Path) -> None:
    assert path.with_suffix(".svg").is_file()
    assert f"reproduction/{path.stem}.svg" in PAGE


def test_the_page_has_no_estimates_but_theirs() -> None:
    known: set[str] = set().union(*map(estimates, KEPT))
    said = set(ESTIMATE.findall(PAGE))
    assert len(said) > 20
    assert said <= known
