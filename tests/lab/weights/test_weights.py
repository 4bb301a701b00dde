"""``olaflab bench weights``: its testbeds, its events, and what it says of codecs."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from olaflab.cli.bench.weights import command
from olaflab.weights import plan
from olaflab.weights.plan import Outcome, Plan, Played, Published, Task

PLAN = Plan(5, 40, 1000, 0.1, 0.0, True, True, 1, "software", 0.1, 1e6, 1)


@pytest.mark.parametrize("levels", [1, 2])
def test_its_testbed_has_every_player_below_the_publisher(levels: int) -> None:
    bed = plan.testbed(replace(PLAN, levels=levels))
    (cluster,) = bed.clusters
    assert len(cluster.workers) == 5
    assert len(bed.engines) == 2 * levels - 1
    assert len({str(worker.ip) for worker in cluster.workers}) == 5


def test_one_player_is_killed_and_comes_back_and_one_is_late() -> None:
    assert PLAN.events == [(10, "kill", 1), (13, "begin", 4), (20, "begin", 1)]


def test_adopted_versions_of_other_bits_are_counted() -> None:
    published = Published({1: "a", 2: "b"}, [0.0], 1, 1, 1, 0, 2)
    played = [Played("x", {1: "a", 2: "c"}, {}, {}), Played("y", {3: "a"}, {}, {})]
    assert Outcome(published=published, played=played).wrong == 2


def test_a_step_changes_about_the_requested_share() -> None:
    task = Task(PLAN)
    before = task.model["w"].copy()
    task.step()
    assert (before != task.model["w"]).sum() == task.changed
    assert 50 < task.changed < 150


def test_codecs_are_measured_as_json() -> None:
    report = CliRunner().invoke(command, ["--codecs", "--values", "3000", "--json"])
    costs = json.loads(report.output)
    assert {cost["codec"] for cost in costs} == {"ulp", "set", "all", "XOR, zlib-1", "u32 + u16"}
    assert next(cost["bytes_each"] for cost in costs if cost["codec"] == "ulp") < 3
