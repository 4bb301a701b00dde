"""Pages give the committed numbers, each stands in one place, and the archives speak for themselves."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from olafctl import paths
from olaflab.papers import shelf
from olaflab.papers.store import Committed
from tests.blocks import find_block

ROOT = paths.sources()
DOCS = ROOT / "docs" / "papers"
ESTIMATE = re.compile(r"(?<![\d.])-?\d+\.\d ± \d+\.\d(?!\d)")
RESOURCE = re.compile(r"(\d+\.\d+) % of the (?:LUTs|flip-flops|registers)")
WORDS, DATA = 2000, 8000
"""Words of a paper's page, and lines of text data that the repository may hold."""


def read_page(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("−", "-").replace("\u00a0", " ")


def committed_estimates(*papers: str) -> set[str]:
    """Return every estimate in the committed cells and statements, without its sign."""
    sections = [section for paper in papers for section in Committed(DOCS, paper).load_sections().values()]
    cells = [cell for one in sections for table in one.tables.values() for row in table.rows for cell in row]
    text = " ".join([*cells, *(statement for one in sections for statement in one.verdicts)])
    return {each.lstrip("-") for each in ESTIMATE.findall(text)}


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_a_page_is_short_and_begins_with_every_item(paper: str) -> None:
    text = read_page(DOCS / f"{paper}.md")
    assert len(text.split()) <= WORDS
    first, _, rest = text.partition("<!-- end of items -->")
    for item in shelf.load_items(paper):
        row = f"| {item.number} | {item.title} | {item.state} | {item.why} |"
        listed = rf"{re.escape(f'{item.number} ({item.title})')}.*: {re.escape(item.why)}"
        assert row in first or re.search(listed, first), item.number
    assert rest


@pytest.mark.parametrize(
    ("page", "paper"),
    [("papers/marl.md", "marl"), ("papers/olaf.md", "olaf"), ("papers/stellaris.md", "stellaris"),
     ("equal-terms.md", "olaf")],
)  # fmt: skip
def test_an_estimate_on_a_page_is_a_committed_one(page: str, paper: str) -> None:
    given = {each.lstrip("-") for each in ESTIMATE.findall(read_page(ROOT / "docs" / page))}
    assert given and given <= committed_estimates(paper)


def test_the_front_page_gives_the_gain_of_equal_terms() -> None:
    rows = Committed(DOCS, "olaf").load_sections()["equal-terms"].tables["summary"].rows
    means = {row[1]: row for row in rows if row[0] == "8 learners, 25% output"}
    adding = means["FIFO, workers add up, best rate"]
    olaf, other, fifo = (
        round(float(means[name][3].split()[0])) for name in ("Olaf", adding[1], "FIFO, best rate")
    )
    gain, half = (round(float(part)) for part in adding[5].split(" ± "))
    text = " ".join(read_page(ROOT / "README.md").split())
    assert f"the mean return is {olaf} with Olaf, {other} with adding up and {fifo} with FIFO" in text
    assert f"Olaf's own gain is {gain} ± {half}" in text


def test_resources_stand_in_one_place() -> None:
    known = set(RESOURCE.findall(read_page(ROOT / "docs" / "figures.md")))
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name != "figures.md":
            given = set(RESOURCE.findall(read_page(page))) - {"3.52", "1.5"}  # the paper's
            assert given <= known, page.name


def test_the_archives_can_be_read_without_this_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program = find_block("docs/papers.md", "import json").text
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "papers.md", "exec"), {})
    found = printed.getvalue().strip()
    assert found == program.rpartition("# ")[2].split(", as in")[0]
    statements = Committed(DOCS, "olaf").load_sections()["fig2"].verdicts
    assert f"async, every update ends above synchronous (SwitchML), by {found}" in statements


def test_the_data_of_the_repository_stays_small() -> None:
    files = [path for kind in ("csv", "json", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    assert sum(len(path.read_bytes().splitlines()) for path in files) <= DATA
    assert list(Path(DOCS).rglob("*.png")) == []
