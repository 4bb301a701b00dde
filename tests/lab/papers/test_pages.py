"""What the papers' pages say is what the committed sections hold."""

import re
from pathlib import Path

import pytest

from olafctl import paths
from olaflab.papers import shelf
from olaflab.papers.store import Committed

DOCS = paths.sources() / "docs" / "papers"
ESTIMATE = re.compile(r"(?<![\d.])-?\d+\.\d ± \d+\.\d(?!\d)")
WORDS = 4000
DATA = 20_000
"""Lines of text data that the repository may hold."""


def page(paper: str) -> str:
    return (DOCS / f"{paper}.md").read_text(encoding="utf-8").replace("−", "-")


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_a_page_is_short_and_begins_with_every_item(paper: str) -> None:
    text = page(paper)
    assert len(text.split()) <= WORDS
    first, _, rest = text.partition("<!-- end of items -->")
    for item in shelf.load_items(paper):
        assert f"| {item.number} | {item.title} | {item.state} |" in first, item.number
    assert rest


@pytest.mark.parametrize("paper", ["marl", "olaf", "stellaris"])
def test_an_estimate_on_a_page_is_a_committed_one(paper: str) -> None:
    committed = Committed(DOCS, paper).sections().values()
    cells = " ".join(
        cell
        for section in committed
        for table in section.tables.values()
        for row in table.rows
        for cell in row
    )
    known = {each.lstrip("-") for each in ESTIMATE.findall(cells)}
    verdicts = " ".join(statement for section in committed for statement in section.verdicts)
    known |= {each.lstrip("-") for each in ESTIMATE.findall(verdicts)}
    given = {each.lstrip("-") for each in ESTIMATE.findall(page(paper))}
    assert given and given <= known


def test_the_data_of_the_repository_stays_small() -> None:
    files = [
        path for kind in ("csv", "json", "svg") for path in (paths.sources() / "docs").rglob(f"*.{kind}")
    ]
    assert sum(len(path.read_bytes().splitlines()) for path in files) <= DATA
    assert list(Path(DOCS).rglob("*.png")) == []
