"""What is kept, what is written, and what is only looked up."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl.errors import BadInput
from olaflab.cli.reproduce import command
from olaflab.paper import fig6, kept, training
from olaflab.paper.experiment import Data, Experiment, Progress, Section
from olaflab.paper.statistics import Figures, over

SUMMARY = {
    "figure": "figure2",
    "title": "8 workers",
    "settings": {"seeds": 5},
    "rows": [{"strategy": "async", "reward": {"mean": 12.25, "interval": 3.0}}],
    "holds": {"async is best": True, "sync is worst": False},
    "tables": [{"title": "earlier", "heads": ["updates"], "rows": [["75"]]}],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests measured is not seen here; the compiled model is taken from the usual cache."""
    from olaflab.model import library

    library.load()
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path / "cache"))


def counting(code: Path, calls: list[int]) -> Experiment:
    def measure(runs: int, progress: Progress) -> Data:
        calls.append(runs)
        if runs == 13:
            raise KeyboardInterrupt
        return {"runs": runs}

    return Experiment("one", "One", (code,), measure, lambda data: Section({}))


def test_the_same_code_and_runs_are_measured_once(tmp_path: Path) -> None:
    code, calls = tmp_path / "measure.py", list[int]()
    code.write_text("one")
    one = counting(code, calls)
    assert [kept.figures(one, runs, lambda step: None) for runs in (3, 3, 4)] == [
        {"runs": 3},
        {"runs": 3},
        {"runs": 4},
    ]
    assert calls == [3, 4]
    code.write_text("two")
    kept.figures(one, 3, lambda step: None)
    assert calls == [3, 4, 3]


def test_an_interrupted_measurement_is_not_kept(tmp_path: Path) -> None:
    code, calls = tmp_path / "measure.py", list[int]()
    code.write_text("")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            kept.figures(counting(code, calls), 13, lambda step: None)
    assert calls == [13, 13]


def test_a_figure_becomes_a_page_a_picture_and_a_csv_file(tmp_path: Path) -> None:
    from olaflab.paper.document import write

    data = {"runs": 2, "frames": {name: {"40": {"1": 3, "2": 1}} for name in ("in turn", "together")}}
    page = tmp_path / "out.md"
    written = write({replace(fig6.EXPERIMENT): data}, page, tmp_path / "out")
    assert sorted(path.name for path in written) == ["fig6-cdf.csv", "fig6.png", "fig6.svg", "out.md"]
    text = page.read_text()
    assert "[![Figure 6: aggregations per outgoing update](out/fig6.png)](out/fig6.svg)" in text
    assert "| 4 clusters at a time, 2 runs | 40 | 75.0 | 100.0 |" in text
    with (tmp_path / "out" / "fig6-cdf.csv").open() as file:
        assert next(iter(csv.DictReader(file)))["≤ 1"] == "75.0"
    assert (tmp_path / "out" / "fig6.png").read_bytes().startswith(b"\x89PNG")
    vector = (tmp_path / "out" / "fig6.svg").read_text()
    assert "worker updates in an outgoing frame</text>" in vector
    write({replace(fig6.EXPERIMENT): data}, page, tmp_path / "out")
    assert (tmp_path / "out" / "fig6.svg").read_text() == vector, "repeats byte for byte"


def test_where_a_curve_is_further_left_at_a_lower_rate_is_said() -> None:
    by_rate = {"40": {"1": 5, "2": 5}, "20": {"1": 6, "9": 4}, "5": {"2": 1, "9": 9}}
    holds = fig6.section({"runs": 1, "frames": {"in turn": by_rate}}).values["holds"]
    where = "4 clusters at a time, 1 runs: further right at"
    assert holds == {
        f"{where} 20 Gb/s than at 40 Gb/s; not at most 1 updates": False,
        f"{where} 5 Gb/s than at 20 Gb/s": True,
    }


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the project's own."""
    monkeypatch.setattr("olaflab.cli.reproduce.KEPT", tmp_path / "kept")
    return tmp_path / "kept"


def ask(tmp_path: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(
        command,
        [*arguments, "-o", str(tmp_path / "out"), "--trainings", str(tmp_path)],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    return done


def test_a_training_that_was_not_run_is_named_with_its_command(tmp_path: Path) -> None:
    assert "Not run: `olafctl bench train --figure 2`" in ask(tmp_path, "fig2").stdout
    assert "Not run" in (tmp_path / "out" / "fig2.md").read_text()


def test_a_trainings_summary_is_shown_with_its_statements(tmp_path: Path) -> None:
    (tmp_path / "figure2.json").write_text(json.dumps(SUMMARY))
    assert "12.2 ± 3.0" in ask(tmp_path, "fig2").stdout
    page = (tmp_path / "out" / "fig2.md").read_text()
    assert "* holds: async is best" in page and "* does not hold: sync is worst" in page
    assert "*earlier*" in page and "| 75 |" in page
    assert json.loads(ask(tmp_path, "fig2", "--json").stdout)["fig2"]["summary"]["title"] == "8 workers"


def test_what_is_kept_of_trainings_is_shown_where_there_are_none(tmp_path: Path, nothing_kept: Path) -> None:
    """A fresh clone: figures that it cannot train stay as they are."""
    out = tmp_path / "out"
    (tmp_path / "figure2.json").write_text(json.dumps(SUMMARY))
    (tmp_path / "figure2.png").write_bytes(b"the picture")
    ask(tmp_path, "fig2")
    made = {path.name: path.read_bytes() for path in out.iterdir()}
    assert made["fig2.png"] == b"the picture" and "fig2.json" in made
    for trained in tmp_path.glob("figure2.*"):
        trained.unlink()
    out.rename(nothing_kept)
    ask(tmp_path, "fig2")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == made


def test_a_picture_stays_where_neither_a_training_nor_a_summary_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "fig3.png").write_bytes(b"the picture")
    ask(tmp_path, "fig3")
    assert (out / "fig3.png").read_bytes() == b"the picture"


def test_all_of_it_as_one_page(tmp_path: Path) -> None:
    (tmp_path / "figure2.json").write_text(json.dumps(SUMMARY))
    ask(tmp_path, "fig2", "--html", str(tmp_path / "page.html"))
    assert "<td>12.2 ± 3.0</td>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no json", '{"title": "x", "settings": 1, "rows": [], "holds": {}}']
)
def test_a_file_that_is_no_summary_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "figure8.json").write_text(text)
    with pytest.raises(BadInput, match=r"figure8\.json.*bench train --figure 8"):
        training.load(tmp_path / "figure8.json")


def test_figures_say_their_spread_where_there_is_one() -> None:
    found = over([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 2.0}])
    assert (found.text("a", 1), found.text("b", 1), found.runs) == ("2.0 ± 1.0", "2.0", 2)
    assert Figures.of_json(json.loads(json.dumps(found.as_json()))) == found


def test_every_name_of_the_command_has_a_page(tmp_path: Path) -> None:
    from olaflab.paper import catalogue, document

    known = catalogue.experiments(tmp_path, tmp_path)
    names = {name.partition("-")[0] for name in known}
    assert names | {"all"} == set(command.params[0].type.choices)  # type: ignore[attr-defined]
    pages = {path.stem for path in document.PAGES.glob("*.md")}
    assert pages == {one.page or one.name for one in known.values()} | {"introduction"}
