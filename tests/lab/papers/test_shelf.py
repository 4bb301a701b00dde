"""The shelf: items, figures and what is committed agree with each other, and figures repeat from points."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl import paths, plotting
from olaflab import pictures
from olaflab.cli.reproduce import command
from olaflab.papers import archive, finished, shelf
from olaflab.papers.check import agree
from olaflab.papers.figure import Cost, Effort, Figure, Points, Section, Table
from olaflab.papers.olaf import fig6
from olaflab.papers.statistics import Figures, over
from olafswitch.errors import BadInput, OlafError

DOCS = paths.sources() / "docs" / "papers"


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_every_item_has_a_state_a_reason_and_its_figures(paper: str) -> None:
    items, known = shelf.items(paper), shelf.figures(paper)
    assert len({item.number for item in items}) == len(items)
    for item in items:
        assert item.state in shelf.STATES, item.number
        assert item.why or item.state == "agrees", item.number
        assert set(item.made) <= set(known), item.number


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_what_is_committed_is_of_figures_that_exist(paper: str) -> None:
    kept, known = shelf.Kept(DOCS, paper), shelf.figures(paper)
    points, sections = kept.points(), kept.sections()
    assert set(points) <= set(sections) <= set(known)
    pictured = {path.stem for path in (DOCS / paper).glob("*.svg")}
    assert pictured <= {name for name, one in known.items() if one.draw is not None}
    assert {name for name in points if known[name].draw is not None} <= pictured


@pytest.mark.parametrize(("paper", "figure"), [("olaf", "fig7-twin"), ("marl", "fig10-whole")])
def test_a_committed_training_repeats_its_section_and_picture(paper: str, figure: str) -> None:
    """Without torch, which no training is needed for here."""
    kept, one = shelf.Kept(DOCS, paper), shelf.figures(paper)[figure]
    points = kept.points()[one.name]
    assert archive.as_json(one.section(points)) == archive.as_json(kept.sections()[one.name])
    assert one.draw is not None
    drawing = plotting.new_figure(*one.size)
    one.draw(points, drawing)
    assert drawing.axes[0].has_data()


def test_points_in_an_archive_repeat_byte_for_byte(tmp_path: Path) -> None:
    tree: dict[str, Points] = {
        "one": {"rows": [[1, "a/b", None]], "columns": {"x ±": np.arange(3)}},
        "two": {},
    }
    for name in ("a.npz", "b.npz"):
        archive.save(tmp_path / name, tree)
    found = archive.load(tmp_path / "a.npz")
    assert found["one"]["rows"] == tree["one"]["rows"] and found["two"] == {}
    assert found["one"]["columns"]["x ±"].tolist() == [0, 1, 2]
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert archive.load(tmp_path / "none.npz") == {}


@pytest.mark.parametrize("text", ["no archive", ""])
def test_a_file_of_something_else_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    for name, load in (("a.npz", archive.load), ("a.json", archive.load_sections)):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadInput, match=name):
            load(tmp_path / name)


def test_sections_come_back_from_their_file(tmp_path: Path) -> None:
    sections = {
        "one": Section({"t": Table("T", ["a"], [["1 ± 2"], ["x"]])}, {"more": "holds"}),
        "two": Section({}),
    }
    archive.save_sections(tmp_path / "s.json", sections)
    assert archive.load_sections(tmp_path / "s.json") == sections


def counting(code: Path, calls: list[int]) -> Figure:
    def run(effort: Effort) -> Points:
        calls.append(effort.number(30))
        if effort.seeds == 13:
            raise KeyboardInterrupt
        return {"runs": effort.number(30)}

    return Figure("one", "One", run, lambda points: Section({}), code=(code,))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests ran is not seen here; the compiled model is taken from the usual cache."""
    from olaflab.model import library

    library.load()
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("own_cache")
def test_the_same_code_and_seeds_are_run_once(tmp_path: Path) -> None:
    code, calls = tmp_path / "measure.py", list[int]()
    code.write_text("one")
    one = counting(code, calls)
    for seeds in (3, 3, None):
        finished.points(one, Effort(lambda step: None, seeds))
    assert calls == [3, 30]
    code.write_text("two")
    finished.points(one, Effort(lambda step: None, 3))
    assert calls == [3, 30, 3]


@pytest.mark.usefixtures("own_cache")
def test_an_interrupted_run_is_not_kept(tmp_path: Path) -> None:
    code, calls = tmp_path / "measure.py", list[int]()
    code.write_text("")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            finished.points(counting(code, calls), Effort(lambda step: None, 13))
    assert calls == [13, 13]


def test_a_training_is_looked_up_unless_it_is_wanted() -> None:
    one = Figure("one", "One", lambda effort: {"new": 1}, lambda points: Section({}), cost=Cost.TRAINING)
    effort = Effort(lambda step: None, kept={"one": {"old": 1}})
    assert shelf.points(one, effort, long=False) == {"old": 1}
    assert shelf.points(one, effort, long=True) == {"new": 1}
    assert shelf.points(one, Effort(lambda step: None), long=False) is None


def ask(*words: str) -> str:
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_figure_is_written_and_then_checked(tmp_path: Path) -> None:
    archive.save(tmp_path / "olaf.npz", {"fig7-twin": shelf.Kept(DOCS, "olaf").points()["fig7-twin"]})
    words = ("olaf", "fig7-twin", "-o", str(tmp_path))
    assert "holds: Olaf, 20 Gb/s: faster than FIFO" in ask(*words)
    assert "<svg" in (tmp_path / "olaf" / "fig7-twin.svg").read_text()
    ask(*words, "--check")
    (tmp_path / "olaf.json").write_text((tmp_path / "olaf.json").read_text().replace('"11.44"', '"19.44"'))
    with pytest.raises(OlafError, match=r"11\.44, was 19\.44"):
        ask(*words, "--check")


def test_a_figure_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInput, match="fig99 is not a figure of olaf"):
        ask("olaf", "fig99")


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("1.0 ± 0.2", "1.3 ± 0.2", True), ("100.0 ± 2.0", "140.0 ± 2.0", False), ("100", "104", True),
        ("100", "110", False), ("yes", "no", False), ("3 of 5", "5 of 5", False), ("–", "–", True),
    ],
)  # fmt: skip
def test_cells_agree_within_their_intervals(before: str, now: str, same: bool) -> None:
    assert agree(before, now) is same


def test_a_curve_further_left_at_a_lower_rate_is_reported() -> None:
    by_rate = {"40": {"1": 5, "2": 5}, "20": {"1": 6, "9": 4}, "5": {"2": 1, "9": 9}}
    section = fig6.section({"runs": 1, "frames": {"in turn": by_rate}})
    where = "4 clusters at a time, 1 runs: further right at"
    assert section.verdicts == {
        f"{where} 20 Gb/s than at 40 Gb/s; not at most 1 updates": "does not hold",
        f"{where} 5 Gb/s than at 20 Gb/s": "holds",
    }


def test_figures_say_their_spread_where_there_is_one() -> None:
    found = over([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 2.0}])
    assert (found.text("a", 1), found.text("b", 1), found.runs) == ("2.0 ± 1.0", "2.0", 2)
    assert Figures.of_json(found.as_json()) == found


def test_a_picture_has_no_empty_groups_and_repeats(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        drawing = plotting.new_figure(4, 3)
        drawing.subplots().plot(range(500), np.random.default_rng(1).random(500))
        pictures.save(drawing, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "<g" not in text and len(text.splitlines()) < 120
