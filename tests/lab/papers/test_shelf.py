"""Items, figures and committed files agree with each other, and a check finds every difference."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl import paths, plotting
from olaflab import pictures
from olaflab.cli import generate
from olaflab.cli.reproduce import Unmeasured, command
from olaflab.papers import shelf, store
from olaflab.papers.check import cells_agree, find_differences
from olaflab.papers.figure import Effort, Figure, FigureCost, FigureTable, Points, Section, judge_interval
from olaflab.papers.olaf import table1
from olaflab.papers.spreads import Spreads, spread_over
from olaflab.papers.store import Committed
from olaflab.papers.summary import Estimate
from olafswitch.errors import BadInput, OlafError

DOCS = paths.sources() / "docs" / "papers"
MUTATIONS = 200
UNTRAINED = {"beside", "script", "outputs"}
"""Trainings whose points are not committed yet: each takes hours of a core."""


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_every_item_has_a_state_a_reason_and_its_figures(paper: str) -> None:
    items, known = shelf.load_items(paper), shelf.load_figures(paper)
    assert len({item.number for item in items}) == len(items)
    for item in items:
        assert item.state in shelf.STATES, item.number
        assert item.why or item.state == "agrees", item.number
        assert set(item.made) <= set(known), item.number


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_committed_sections_and_pictures_repeat_from_committed_points(paper: str) -> None:
    """Every character of a section, and every word of a picture; torch is not needed for it."""
    committed, known = Committed(DOCS, paper), shelf.load_figures(paper)
    points, sections = committed.load_points(), committed.load_sections()
    assert set(points) <= set(sections) <= set(known)
    assert {known[name].cost for name in points} <= {FigureCost.TRAINING, FigureCost.MACHINE}
    assert {path.stem for path in (DOCS / paper).glob("*.svg")} <= {n for n in known if known[n].draw}
    for name, its in points.items():
        one = known[name]
        assert list(find_differences(sections[name], one.section(its))) == [], name
        if one.draw is not None:
            drawing = plotting.new_figure(*one.size)
            one.draw(its, drawing)
            labels = {text for axes in drawing.axes for text in axes.get_legend_handles_labels()[1]}
            assert labels <= picture_words(committed.picture_path(one)) and drawing.axes[0].has_data(), name


def picture_words(picture: Path) -> set[str]:
    return {text for text in ElementTree.parse(picture).getroot().itertext() if text.strip()}


def mutate_section(section: dict[str, object], draw: random.Random) -> bool:
    """Change one thing of a section as JSON holds it; False where there is no such thing."""
    verdicts, tables = section["verdicts"], section["tables"]
    assert isinstance(verdicts, dict) and isinstance(tables, dict)
    kind = draw.choice(("digit", "title", "head", "row", "table", "verdict", "statement", "word"))
    table = tables[draw.choice(list(tables))]
    if kind == "table":
        del tables[draw.choice(list(tables))]
    elif kind == "title":
        table["title"] = table["title"][1:]
    elif kind == "head":
        table["heads"][draw.randrange(len(table["heads"]))] += "x"
    elif kind in ("verdict", "statement"):
        if not verdicts:
            return False
        text = draw.choice(list(verdicts))
        word = verdicts.pop(text)
        if kind == "verdict":
            verdicts[text] = draw.choice(sorted({"holds", "not shown", "contradicted"} - {word}))
    elif not table["rows"]:
        return False
    elif kind == "row":
        del table["rows"][draw.randrange(len(table["rows"]))]
    else:
        row = draw.choice(table["rows"])
        place = draw.randrange(len(row))
        wanted = [n for n, each in enumerate(row[place]) if each.isdigit() == (kind == "digit")]
        if not wanted:
            return False
        at = draw.choice(wanted)
        new = str((int(row[place][at]) + draw.randint(1, 9)) % 10) if kind == "digit" else "§"
        row[place] = row[place][:at] + new + row[place][at + 1 :]
    return True


def test_each_of_200_mutations_of_the_committed_summaries_is_found(tmp_path: Path) -> None:
    draw, path = random.Random(7), tmp_path / "mutated.json"
    committed = {paper: Committed(DOCS, paper).load_sections() for paper in shelf.NAMES}
    for sections in committed.values():
        assert [found for each in sections.values() for found in find_differences(each, each)] == []
    made = 0
    while made < MUTATIONS:
        paper = draw.choice(shelf.NAMES)
        name = draw.choice(list(committed[paper]))
        tree = json.loads((DOCS / f"{paper}.json").read_text(encoding="utf-8"))
        if not mutate_section(tree[name], draw):
            continue
        path.write_text(json.dumps(tree), encoding="utf-8")
        found = store.load_sections(path)
        assert list(find_differences(found[name], committed[paper][name])), (paper, name, tree[name])
        made += 1


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("1.07 ± 0.03", "1.90 ± 0.03", False), ("0.966", "0.100", False), ("0.215 µs", "1.150 µs", False),
        ("1.0 ± 0.2", "1.3 ± 0.2", True), ("100.0 ± 2.0", "140.0 ± 2.0", False), ("100", "104", True),
        ("100", "110", False), ("yes", "no", False), ("3 of 5", "5 of 5", False), ("–", "–", True),
        ("1.18 (0.67 … 2.33)", "0.70 (0.60 … 0.90)", True), ("1.18 (0.67 … 2.33)", "3 (2.40 … ∞)", False),
        ("0.00 ± 0.00", "0.01 ± 0.00", True), ("0.00 ± 0.00", "0.50 ± 0.00", False), ("12 ms", "12 s", False),
    ],
)  # fmt: skip
def test_drawn_cells_agree_within_their_intervals(before: str, now: str, same: bool) -> None:
    assert cells_agree(before, now) is same and cells_agree(now, before) is same


def test_other_seeds_keep_words_and_structure() -> None:
    one = Section(
        {"t": FigureTable("T; 5 seeds", ["a"], [["1.0 ± 2.0"]])}, {"more, by 1.0 ± 2.0": "not shown"}
    )
    two = Section(
        {"t": FigureTable("T; 3 seeds", ["a"], [["2.0 ± 2.0"]])}, {"more, by 2.0 ± 2.5": "not shown"}
    )
    assert list(find_differences(one, two, drawn=True)) == [] and list(find_differences(one, two))
    other = Section({"t": FigureTable("U; 3 seeds", ["a"], [["9.0 ± 2.0"]])}, {"more, by 9.0 ± 2.5": "holds"})
    found = list(find_differences(one, other, drawn=True))
    assert len(found) == 3 and any("its title" in each for each in found)


@pytest.mark.parametrize(
    ("low", "high", "bound", "word"),
    [
        (0.1, 2.0, 0.0, "holds"), (-0.1, 2.0, 0.0, "not shown"), (0.0, 0.0, 0.0, "not shown"),
        (-2.0, -0.1, 0.0, "contradicted"), (float("nan"), float("nan"), 0.0, "not shown"),
        (0.67, 2.33, 0.82, "not shown"), (4.03, float("inf"), 0.865, "holds"),
        (0.1, 0.5, 0.9, "contradicted"),
    ],
)  # fmt: skip
def test_a_verdict_is_the_intervals(low: float, high: float, bound: float, word: str) -> None:
    assert judge_interval(low, high, bound) == word
    assert Estimate((low + high) / 2, (high - low) / 2).word in ("more", "less", "not shown")


def test_points_in_an_archive_repeat_byte_for_byte(tmp_path: Path) -> None:
    tree: dict[str, Points] = {
        "one": {"rows": [[1, "a/b", None]], "columns": {"x ±": np.arange(3)}},
        "two": {},
    }
    for name in ("a.npz", "b.npz"):
        store.save_points(tmp_path / name, tree)
    found = store.load_points(tmp_path / "a.npz")
    assert found["one"]["rows"] == tree["one"]["rows"] and found["two"] == {}
    assert found["one"]["columns"]["x ±"].tolist() == [0, 1, 2]
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    sections = {
        "one": Section({"t": FigureTable("T", ["a"], [["1 ± 2"], ["x"]])}, {"more": "holds"}),
        "two": Section({}),
    }
    store.save_sections(tmp_path / "s.json", sections)
    assert store.load_sections(tmp_path / "s.json") == sections
    assert store.load_points(tmp_path / "none.npz") == {}


@pytest.mark.parametrize("text", ["no archive", ""])
def test_a_file_of_something_else_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    for name, load in (("a.npz", store.load_points), ("a.json", store.load_sections)):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadInput, match=name):
            load(tmp_path / name)


def make_counting(code: Path, calls: list[int]) -> Figure:
    def count_run(effort: Effort) -> Points:
        calls.append(effort.seed_count(30))
        if effort.seeds == 13:
            raise KeyboardInterrupt
        return {"runs": effort.seed_count(30)}

    return Figure("one", "One", count_run, lambda points: Section({}), code=(code,))


def test_the_same_code_and_seeds_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path / "cache"))
    code, calls = tmp_path / "measure.py", list[int]()
    code.write_text("one")
    one = make_counting(code, calls)
    for seeds in (3, 3, None):
        store.run_cached(one, Effort(lambda step: None, seeds))
    assert calls == [3, 30]
    code.write_text("two")
    store.run_cached(one, Effort(lambda step: None, 3))
    assert calls == [3, 30, 3]
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            store.run_cached(one, Effort(lambda step: None, 13))
    assert calls[3:] == [13, 13]


def test_a_training_is_looked_up_unless_it_is_requested() -> None:
    one = Figure(
        "one", "One", lambda effort: {"new": 1}, lambda points: Section({}), cost=FigureCost.TRAINING
    )
    effort = Effort(lambda step: None, kept={"one": {"old": 1}})
    assert store.find_points(one, effort, long=False) == {"old": 1}
    assert store.find_points(one, effort, long=True) == {"new": 1}
    assert store.find_points(one, Effort(lambda step: None), long=False) is None


def ask_command(*arguments: str) -> str:
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def folder_contents(folder: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_figure_is_written_and_then_checked(tmp_path: Path) -> None:
    store.save_points(
        tmp_path / "olaf.npz", {"fig7-twin": Committed(DOCS, "olaf").load_points()["fig7-twin"]}
    )
    arguments = ("olaf", "fig7-twin", "-o", str(tmp_path))
    assert "holds: Olaf, 20 Gb/s: faster than FIFO" in ask_command(*arguments)
    assert "<svg" in (tmp_path / "olaf" / "fig7-twin.svg").read_text()
    written = folder_contents(tmp_path)
    ask_command(*arguments, "--check")
    ask_command(*arguments)
    assert folder_contents(tmp_path) == written
    (tmp_path / "olaf.json").write_text((tmp_path / "olaf.json").read_text().replace('"11.44"', '"11.45"'))
    with pytest.raises(OlafError, match=r"11\.44, was 11\.45"):
        ask_command(*arguments, "--check")


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_every_figure_is_compared_or_says_why_it_is_not(paper: str, tmp_path: Path) -> None:
    """Without points nothing is compared, which has an exit code of its own. No check writes anything."""
    committed, known, before = Committed(DOCS, paper), shelf.load_figures(paper), folder_contents(DOCS)
    points, sections = committed.load_points(), committed.load_sections()
    arguments = ("--check", "--runs", str(tmp_path / "runs"))
    for name, one in known.items():
        if name in points:
            ask_command(paper, name, *arguments)
        elif one.cost is FigureCost.MODEL:  # run by the check: it takes minutes
            assert name in sections
        else:
            what = "a training" if name in UNTRAINED else "a measurement of a machine"
            for more in (arguments, arguments[1:]):
                with pytest.raises(Unmeasured, match=f"{name}: is {what}, without committed") as raised:
                    ask_command(paper, name, *more)
                assert raised.value.exit_code == 4
            assert (one.cost is FigureCost.MACHINE) == (name not in UNTRAINED) and name not in sections
    assert folder_contents(DOCS) == before and folder_contents(tmp_path) == {}


def test_wrong_requests_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="fig99 is not a figure of olaf"):
        ask_command("olaf", "fig99")
    monkeypatch.setattr(paths, "sources", lambda: tmp_path)  # as in a wheel
    with pytest.raises(BadInput, match=r"points and summaries are not installed.*in a checkout"):
        ask_command("olaf", "fig2")
    with pytest.raises(BadInput, match=r"are not installed.*in a checkout"):
        CliRunner().invoke(generate.command, ["--check"], catch_exceptions=False)
    assert folder_contents(tmp_path) == {}


def test_a_curve_further_left_at_a_lower_rate_is_reported() -> None:
    by_rate = {"40": {"1": 5, "2": 5}, "20": {"1": 6, "9": 4}, "5": {"2": 1, "9": 9}}
    section = table1.show_figure6({"runs": 1, "frames": {"in turn": by_rate}})
    where = "4 clusters at a time, 1 runs: further right at"
    assert section.verdicts == {
        f"{where} 20 Gb/s than at 40 Gb/s; not at most 1 updates": "does not hold",
        f"{where} 5 Gb/s than at 20 Gb/s": "holds",
    }


def test_spreads_are_shown_where_there_are_any() -> None:
    found = spread_over([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 2.0}])
    assert (found.format_value("a", 1), found.format_value("b", 1), found.runs) == ("2.0 ± 1.0", "2.0", 2)
    assert Spreads.of_json(found.as_json()) == found


def test_a_picture_has_no_empty_groups_and_repeats_whatever_the_last_bits(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).random(500)
    for name, last in (("a.svg", 0.0), ("b.svg", 1e-12)):
        drawing = plotting.new_figure(4, 3)
        drawing.subplots().plot(range(500), rows + last)
        pictures.save_picture(drawing, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "<g" not in text and len(text.splitlines()) < 120


def test_every_contender_has_one_style_and_differs_in_grey() -> None:
    names = ("Olaf", "FIFO", "FIFO, best rate", "FIFO, workers add up", "Olaf with transmission control")
    styles = {name: pictures.style_of(name) for name in names}
    assert pictures.style_of("Olaf, transmission control") == pictures.style_of("Olaf_TC")
    assert [name for name in names if styles[name]["color"] == pictures.SUBJECT] == ["Olaf"]
    looks = [(colour_lightness(style["color"]), str(style["linestyle"])) for style in styles.values()]
    assert len(set(looks)) == len(names)


def colour_lightness(colour: str) -> int:
    return sum(int(colour[place : place + 2], 16) for place in (1, 3, 5)) // 192
