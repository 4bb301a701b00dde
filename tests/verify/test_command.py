"""``olafctl verify`` as an operator meets it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olafctl.cli.verify import command
from olafswitch.errors import BadInput

TWO = ("--clusters", "a:period=100ms;b:period=100ms", "--service", "2ms", "--updates", "4")


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_reject_shows_saves_draws_and_replays_its_schedule(tmp_path: Path) -> None:
    file, picture = tmp_path / "schedule.json", tmp_path / "schedule.png"
    result = ask(*TWO, "--save", str(file), "--plot", str(picture))
    assert result.exit_code == 1
    assert result.output.startswith("reject: fairness ≤ 0.1 ms")
    assert "assumed:" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    saved = json.loads(file.read_text())
    assert set(saved["updates"][0]) == {"time_ns", "cluster", "worker", "seq", "gen_time"}
    replayed = ask("--replay", str(file), "--json")
    assert replayed.exit_code == 0
    claimed = json.loads(ask(*TWO, "--json").output)["counterexample"]["peaks_ns"]
    assert json.loads(replayed.output)["peaks_ns"] == claimed


def test_a_reject_by_withholding_names_the_useful_question() -> None:
    question = ("nine-clusters", "--period", "10us", "--objective", "peak<=40us")
    result = ask(*question)
    assert result.exit_code == 1
    assert (
        "cause: transmission control, not the engine: 60 of 60 updates of cluster0 are withheld"
        in result.output
    )
    assert "--transmission always" in result.output
    assert len(result.output.splitlines()) < 20
    assert len(ask(*question, "--details").output.splitlines()) > 540


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--service", "2ms", "--objective", "peak<=50ms"), "the update period"),
        (("--service", "2ms", "--objective", "peak<=101ms"), "waiting behind other clusters"),
        (
            ("--service", "60ms", "--slots", "1", "--transmission", "always", "--objective", "loss-free"),
            "a full queue",
        ),
    ],
)
def test_a_reject_names_its_cause(arguments: tuple[str, ...], says: str) -> None:
    crowd = ";".join(f"{name}:period=100ms" for name in "abc")
    result = ask("--clusters", crowd, "--updates", "4", *arguments)
    assert result.exit_code == 1
    assert f"cause: {says}" in result.output


def test_unlike_periods_are_the_cause_of_unlike_ages() -> None:
    result = ask("--clusters", "a:period=100ms;b:period=300ms", "--service", "2ms")
    assert "cause: the update periods: they differ by 200 ms" in result.output


def test_more_slots_are_proposed_where_they_help() -> None:
    result = ask("nine-clusters", "--period", "10us", "--transmission", "always", "--objective", "loss-free")
    assert "cause: a full queue: 40 of 60 updates of cluster0 are lost" in result.output
    assert "--slots 9, with which this schedule meets the objective" in result.output


@pytest.mark.parametrize(
    "example", [line for line in (command.help or "").splitlines() if "olafctl verify" in line]
)
def test_every_example_of_the_help_has_the_answer_it_states(example: str) -> None:
    stated = {"accept": 0, "reject": 1}
    text = (command.help or "").splitlines()
    printed = text[text.index(example) - 1]
    result = ask(*shlex.split(example)[2:])
    assert result.exit_code == stated[printed.split("(")[-1].rstrip(")")]


def test_an_accept_states_its_assumptions() -> None:
    result = ask(*TWO, "--objective", "fairness<=2ms")
    assert result.exit_code == 0
    assert "horizon: 4 updates" in result.output
    assert "the first anywhere in 0 ms … 99.999999 ms" in result.output


def test_a_testbed_gives_clusters_slots_and_service() -> None:
    result = ask("laptop", "--period", "1ms", "--objective", "loss-free", "--updates", "3")
    assert result.exit_code == 0
    assert "arrivals of lander: 2 workers" in result.output
    assert "Q_max = 8" in result.output


def test_the_largest_rate_is_found() -> None:
    result = ask(*TWO, "--objective", "peak<=150ms", "--maximise-rate", "--json")
    (accepted,) = json.loads(result.output)["accepted"]
    assert result.exit_code == 0
    assert 0.66 < accepted[0] < 0.75


def test_the_range_of_the_threshold_is_found() -> None:
    result = ask(
        *TWO, "--slots", "1", "--objective", "peak<=900ms", "--threshold-range", "50ms..450ms", "--json"
    )
    assert result.exit_code == 0
    assert json.loads(result.output)["accepted"]


def test_unknown_has_its_own_exit_code() -> None:
    crowd = ";".join(f"c{index}:period=100ms" for index in range(8))
    limits = ("--service", "10ms", "--slots", "4", "--timeout", "0.001")
    result = ask("--clusters", crowd, *limits, "--objective", "peak<=2s")
    assert result.exit_code == 4
    assert "not decided in time" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*TWO, "--service", "0ms"), "service: is 0"),
        ((*TWO, "--service=-1ms"), "service: is -1000000"),
        ((*TWO, "--threshold=-4ms"), "threshold: is -4000000"),
        ((*TWO, "--objective", "fairness<=1ms@a,x"), "no cluster is called 'x'"),
        ((*TWO, "--objective", "fairness<=-1ms"), "not negative"),
        ((*TWO, "--objective", "speed<=1ms"), "known: fairness"),
        ((*TWO, "--objective", "peak"), "needs a bound"),
        ((*TWO, "--slots", "0"), "slots: is 0"),
        ((*TWO, "--updates", "1"), "updates: is 1"),
        ((*TWO, "--tick", "3ms"), "not a multiple of the tick"),
        ((*TWO, "--transmission", "bounded"), "bounded:N"),
        (("--clusters", "a:period=10", "--service", "2ms"), "'10' is not a time"),
        (("--clusters", "a:period=10ms,phase=4ms..20ms", "--service", "2ms"), "within [0, 10000000) ns"),
        (("--clusters", "a:period=10ms;a:period=10ms", "--service", "2ms"), "two clusters have this name"),
        (("--clusters", "a:period=10ms"), "--service: is missing"),
        (("laptop",), "does not say how often"),
        (("laptop", "--period", "unknown=1ms"), "no cluster is called 'unknown'"),
        (("--replay", "/nowhere/schedule.json"), "is not a saved schedule"),
        ((*TWO, "--plot", "schedule.gif"), "schedule.gif: is not a picture's file name"),
        ((*TWO, "--maximise-rate", "--threshold-range", "1ms..2ms"), "one of the two"),
        ((*TWO, "--threshold-range", "2ms..1ms"), "'2ms..1ms' is not a range"),
        ((), "name a testbed or give --clusters"),
    ],
)
def test_bad_parameters_are_a_clear_line(arguments: tuple[str, ...], says: str) -> None:
    result = ask(*arguments)
    assert isinstance(result.exception, BadInput)
    assert says in str(result.exception)


@pytest.mark.parametrize(
    ("there", "damage"),
    [(r'"time_ns": \d+', '"time_ns": Infinity'), (r"\[", "{"), ("olaf-schedule/1", "olaf-schedule/9")],
)
def test_a_schedule_that_was_damaged_is_a_clear_line(there: str, damage: str, tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    ask(*TWO, "--save", str(file))
    file.write_text(re.sub(there, damage, file.read_text()))
    result = ask("--replay", str(file))
    assert isinstance(result.exception, BadInput), result.exception
    assert str(file) in str(result.exception)


def test_the_process_exits_with_2_on_bad_parameters() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "olafctl", "verify", *TWO, "--threshold=-4ms"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == "error: threshold: is -4000000 ns (at least 1)\n"


@pytest.mark.parametrize(
    ("testbed", "says"),
    [
        ("iswitch-rack", "cluster hopper is summed (iswitch), and sums have no Age-of-Model to prove"),
        ("large-model", "cluster loose has 134 segments; an update must be one frame"),
        ("two-racks", "has 3 engines, and a proof is about one queue"),
    ],
)
def test_what_the_laws_do_not_describe_is_refused(testbed: str, says: str) -> None:
    answer = ask(testbed, "--period", "10ms", "--objective", "loss-free")
    assert isinstance(answer.exception, BadInput)
    assert says in str(answer.exception)


@pytest.mark.parametrize(
    ("objective", "answer"),
    [
        ("peak@b<=10ms", "'peak@b<=10ms' names the clusters before the bound (as in peak<=10ms@a,b)"),
        ("peek<=10ms", "'peek<=10ms' is not an objective (known: "),
    ],
)
def test_an_objective_that_cannot_be_read_shows_how(objective: str, answer: str) -> None:
    result = ask(*TWO, "--objective", objective)
    assert isinstance(result.exception, BadInput)
    assert answer in str(result.exception)


def test_an_objective_says_how_many_updates_it_takes() -> None:
    clusters = ("--clusters", "often:period=3ms;seldom:period=100ms", "--service", "1ms", "--updates", "20")
    assert ask(*clusters, "--objective", "peak<=9ms@often").exit_code == 0
    refused = ask(*clusters, "--objective", "peak<=300ms")
    assert isinstance(refused.exception, BadInput)
    assert "(--updates 34, or" in str(refused.exception)
