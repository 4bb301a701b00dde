"""What a training job gains is predicted from what is known before anything is built."""

import json
from dataclasses import replace
from math import inf

import pytest
from click.testing import CliRunner

from olaflab.cli.gain import command
from olaflab.model.gain import GainJob, QueueWay, Spread, compare_ways, spread_of_seeds
from olafswitch.errors import BadInput

MS = 1_000_000
JOB = GainJob(300, 10 * MS, 3, 6, 10_000_000, 8, 0.1, 1500)


def test_a_congested_job_gains() -> None:
    found = compare_ways(JOB)
    fifo, olaf = found.outcomes[QueueWay.FIFO], found.outcomes[QueueWay.OLAF]
    assert found.is_congested
    assert fifo.lost.lowest > 0.4 and olaf.lost.highest < 0.01
    assert found.younger.highest < 0.6
    assert olaf.updates.median == pytest.approx(1800, rel=0.02), "all that 18 workers send every 10 ms"


def test_segments_begin_in_turn_so_fifo_starves_none_of_them() -> None:
    """With segments in one order a full queue always dropped the same ones: an age of up to 55 s."""
    fifo = compare_ways(GainJob(1800, 100 * MS, 4, 1, 1_000_000, 16, 0.1, 1500)).outcomes[QueueWay.FIFO]
    assert fifo.lost.median == pytest.approx(0.58, abs=0.01)
    assert 200 * MS < fifo.age.lowest < 262 * MS < fifo.age.highest < 500 * MS, "262 ms is what the SDK had"


def test_the_figures_are_those_of_several_runs() -> None:
    spread = compare_ways(JOB, range(5)).outcomes[QueueWay.FIFO].age
    assert spread.lowest < spread.median < spread.highest
    alone = compare_ways(JOB, range(1)).outcomes[QueueWay.FIFO].age
    assert alone.lowest == alone.median == alone.highest


def test_a_run_without_an_age_is_older_than_any() -> None:
    assert spread_of_seeds([3.0, None, 1.0]) == Spread(3.0, 1.0, inf)
    assert spread_of_seeds([None, None, 1.0]) == Spread(inf, 1.0, inf)


def test_the_commands_own_example_has_an_age() -> None:
    (example,) = (line for line in (command.help or "").splitlines() if "olaflab gain" in line)
    result = CliRunner().invoke(command, [*example.split()[2:], "--seeds", "3", "--json"])
    outcomes = json.loads(result.output)["outcomes"]
    assert len(outcomes) == 3 and all(outcome["age"]["highest"] for outcome in outcomes)
    result = CliRunner().invoke(command, [*example.split()[2:], "--seeds", "3"])
    assert "of about the same age. More than 8 slots help" in result.output


def test_an_idle_link_gains_nothing() -> None:
    found = compare_ways(replace(JOB, rate=100_000_000))
    assert not found.is_congested
    assert {outcome.lost.highest for outcome in found.outcomes.values()} == {0.0}


def test_a_large_model_travels_in_segments() -> None:
    job = replace(JOB, values=9797)
    assert (job.segments, job.frame_bytes) == (28, 64 + 4 * 350)
    assert replace(job, mtu=9022).segments == 5


def test_transmission_control_holds_back_beyond_the_slots() -> None:
    outcome = compare_ways(replace(JOB, clusters=16)).outcomes[QueueWay.CONTROL]
    assert outcome.held.lowest > 0.1


def test_the_verdict_is_in_words_and_in_json() -> None:
    options = ["--values", "300", "--interval", "10ms", "--workers", "3", "--clusters", "6"]
    result = CliRunner().invoke(command, [*options, "--rate", "10Mb/s"])
    assert result.exit_code == 0
    assert "Yes: FIFO loses" in result.output
    result = CliRunner().invoke(command, [*options, "--rate", "10Mb/s", "--json"])
    assert json.loads(result.output)["congested"] is True
    result = CliRunner().invoke(command, [*options, "--rate", "1Gb/s"])
    assert "Little to gain" in result.output


@pytest.mark.parametrize(
    ("option", "text", "what"),
    [("--rate", "off", "never congested"), ("--interval", "soon", "soon"), ("--rate", "0Mb/s", "0Mb/s")],
)
def test_what_cannot_be_read_is_refused(option: str, text: str, what: str) -> None:
    options = {"--values": "300", "--interval": "10ms", "--workers": "3", "--rate": "10Mb/s", option: text}
    result = CliRunner().invoke(command, [word for pair in options.items() for word in pair])
    assert isinstance(result.exception, BadInput)
    assert option in str(result.exception)
    assert what in str(result.exception)


def test_what_is_too_large_to_simulate_is_refused() -> None:
    with pytest.raises(BadInput, match="frames would have to be simulated"):
        compare_ways(replace(JOB, values=10_000_000, clusters=1000))
