"""``olaflab bench weights``: its testbeds, its events, and what it says of codecs."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from olafctl.network import interfaces
from olaflab import racks
from olaflab.cli import deltas
from olaflab.cli.bench.weights import command
from olaflab.weights.fan import measure_fan_out
from olaflab.weights.plan import Plan, Played, Published, Task, WeightsOutcome
from olaflab.weights.players import Training, summarise_ways
from olaflab.weights.saving import CODECS, CODED, XOR

PLAN = Plan(5, 40, 1000, 0.1, 0.0, True, True, 1, "software", 0.1, 1e6, 1)


@pytest.mark.parametrize("levels", [1, 2])
def test_its_testbed_has_every_player_below_the_publisher(levels: int) -> None:
    bed = racks.make_testbed("racks", "software", "player", 5, levels)
    (cluster,) = bed.clusters
    assert len(cluster.workers) == 5
    assert len(bed.engines) == 2 * levels - 1
    assert len({str(worker.ip) for worker in cluster.workers}) == 5


def test_one_player_is_killed_and_comes_back_and_one_is_late() -> None:
    assert PLAN.events == [(10, "kill", 1), (13, "begin", 4), (20, "begin", 1)]


def test_adopted_versions_of_other_bits_are_counted() -> None:
    published = Published({1: "a", 2: "b"}, [0.0], 1, 1, 1, 0, 2)
    played = [Played("x", {1: "a", 2: "c"}, {}, {}), Played("y", {3: "a"}, {}, {})]
    assert WeightsOutcome(published=published, played=played).wrong == 2


def test_a_step_changes_about_the_requested_share() -> None:
    task = Task(PLAN)
    before = task.model["w"].copy()
    task.step()
    assert (before != task.model["w"]).sum() == task.changed
    assert 50 < task.changed < 150


def test_codecs_are_measured_as_json() -> None:
    report = CliRunner().invoke(command, ["--codecs", "--values", "3000", "--json"])
    costs = json.loads(report.output)
    codecs = {cost["codec"] for cost in costs}
    assert codecs - {"XOR, zstd-1", "zstd"} == {"ulp", "all", "deflated", "full", "index, value"}
    assert next(cost["bytes_each"] for cost in costs if cost["codec"] == "ulp") < 3
    assert all(cost["encode"] > 0 and cost["decode"] > 0 for cost in costs)


def test_versions_reach_every_player_through_an_engine_whatever_is_lost() -> None:
    plan = replace(PLAN, versions=3, values=30_000, share=0.2)
    exact, lossy = measure_fan_out(plan, (4,), (0.0, 0.05), lambda text: None)
    assert (exact.transmissions, exact.wants) == (1.0, 0.0)
    assert 1.0 < lossy.transmissions < 2.0
    assert exact.issue <= exact.sent < 1.1 * exact.issue
    assert 60_000 < exact.join < 66_000


def test_players_below_three_engines_adopt_exactly_what_was_published() -> None:
    if reason := interfaces.why_not():
        pytest.skip(f"needs network namespaces: {reason}")
    options = (
        "--players 4 --levels 2 --loss 0.01 --kill --late --versions 16 --values 20000 --pace 0.05 --json"
    )
    report = CliRunner().invoke(command, [*options.split(), "--json"])
    outcome = json.loads(report.stdout)
    assert (report.exit_code, outcome["problems"], len(outcome["played"])) == (0, [], 4)
    published = outcome["published"]["digests"]
    assert all(
        published[version] == sha for one in outcome["played"] for version, sha in one["digests"].items()
    )
    assert all("16" in one["digests"] for one in outcome["played"])


def test_the_prediction_favours_deltas_on_a_slow_link_and_nccl_on_a_fast_one() -> None:
    def predicted(rate: str) -> tuple[dict[str, dict[str, float]], str]:
        arguments = ["--parameters", "6e8", "--players", "16", "--rate", rate, "--json"]
        report = json.loads(CliRunner().invoke(deltas.command, arguments).output)
        return report["ways"], report["advice"]

    ways, advice = predicted("1Gb/s")
    assert advice.startswith("Yes")
    assert ways["deltas, one by one"]["sent"] == 16 * ways["deltas, multicast (Olaf)"]["sent"]
    assert 60 < ways["full, a ring or tree (NCCL)"]["sent"] / ways["deltas, multicast (Olaf)"]["sent"] < 80
    assert predicted("400Gb/s")[1].startswith("Stay with NCCL")


@pytest.mark.parametrize("changed", [0.016, 0.101, 0.47, 0.912])
def test_deltas_are_the_fastest_way_below_the_rate_that_is_named(changed: float) -> None:
    def predicted(players: int, rate: int) -> dict[str, Any]:
        options = f"--parameters 6e8 --players {players} --rate {rate}b/s --changed {changed} --json"
        report: dict[str, Any] = json.loads(CliRunner().invoke(deltas.command, options.split()).output)
        return report

    page = Path("docs/weights.md").read_text()
    _, row = page.split("| changed (learning rate) |")[1].split(f"\n| {100 * changed:.3g} %")
    named = re.findall(r"\| ([0-9.]+)", row.splitlines()[0])
    for (players, limit), rounded in zip(predicted(1, 10**9)["limits"].items(), named, strict=True):
        assert float(rounded) == round(limit / 1e9, 2)
        for rate, fastest in ((0.99 * limit, True), (1.01 * limit, False)):
            report = predicted(int(players), round(rate))
            ways = {name: way["seconds"] for name, way in report["ways"].items()}
            assert (min(ways, key=lambda name: ways[name]) == "deltas, multicast (Olaf)") == fastest
            assert report["advice"].startswith("Yes") == fastest


def test_the_prediction_codes_as_the_page_says() -> None:
    page = Path("docs/weights.md").read_text()
    rows = re.findall(r"^\| 1e-\S+ \| ([0-9.]+) % \| (.+) \|$", page, re.M)
    found = {
        round(float(share) / 100, 4): [tuple(map(float, cell.split("/"))) for cell in cells.split(" | ")]
        for share, cells in rows
    }
    assert found == {share: [row[name] for name in (*CODECS, XOR)] for share, row in CODED.items()}


def test_ways_of_a_training_are_compared_seed_by_seed() -> None:
    def run_way(way: str, seed: int, end: float) -> Training:
        return Training(way, seed, 10.0, 10**6, [0.25] * 40, end, 0.1, 3, {"0": 2, "1": seed})

    runs = [run_way(way, seed, 0.5 + seed / 10 - loss) for seed in (1, 2)
            for way, loss in (("deltas", 0.0), ("full", 0.1), ("synchronous", 0.0))]  # fmt: skip
    deltas_, full, synchronous = summarise_ways(runs)
    assert (deltas_.seeds, deltas_.megabytes.mean, deltas_.lost.mean) == (2, 1.0, 1.0)
    assert full.beside.mean == pytest.approx(0.1)
    assert full.beside.interval == pytest.approx(0.0, abs=1e-9)
    assert synchronous.gain.mean == pytest.approx(0.4)
    assert deltas_.staleness == {"0": 4, "1": 3}


def test_the_page_says_whether_the_example_learns_more_than_the_best_trivial_answer() -> None:
    page, trivial = Path("docs/weights.md").read_text(encoding="utf-8"), 1 / 5  # one digit of five
    assert f"\n| best trivial answer | {trivial:.2f} | | | |\n" in page
    for row in json.loads(Path("docs/players.json").read_text(encoding="utf-8")):
        ends = np.array(row["ends"])
        half = stats.t.ppf(0.975, len(ends) - 1) * stats.sem(ends)
        learnt = ends.mean() - trivial
        assert (row["seeds"], row["trivial"]) == (len(ends), pytest.approx(trivial))
        assert learnt > half or row["way"] != "deltas"  # what the example is for
        word = "shown" if learnt > half else "not shown"
        estimates = [f"{mean:.2f} ± {half:.2f}" for mean in (ends.mean(), learnt)]
        cells = [row["way"], *estimates, word, f"{row['megabytes']['mean']:.1f}"]
        assert f"| {' | '.join(cells)} |\n" in page
