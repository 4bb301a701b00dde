"""``olaflab simulate`` as an operator meets it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olafctl.targets.testbeds import locate_testbed
from olaflab.cli.simulate import command
from olafswitch.errors import BadInput

BUSY = ("nine-clusters", "--period", "1us", "--rate", "40Gb/s", "--frame-bytes", "256", "--duration", "1ms")


def run_command(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_testbeds_workers_share_its_engine() -> None:
    data = json.loads(run_command(*BUSY, "--json").stdout)
    assert [one["cluster"] for one in data["clusters"]] == [f"cluster{index}" for index in range(9)]
    assert data["generated"] == 27 * 1000
    assert 0.9 < data["fairness"] <= 1
    ended = sum(one["delivered"] + one["replaced"] + one["lost"] for one in data["clusters"])
    assert ended + data["under_way"] == data["generated"]


def test_fifo_loses_what_olaf_merges() -> None:
    olaf, fifo = (
        json.loads(run_command(*BUSY, "--mode", mode, "--json").stdout) for mode in ("olaf", "fifo")
    )
    assert olaf["loss"] < 0.01 < 0.2 < fifo["loss"]
    assert olaf["engines"]["engine"]["merged"] > 0 == fifo["engines"]["engine"]["merged"]


def test_one_cluster_may_be_slower_and_a_seed_repeats() -> None:
    arguments = (*BUSY, "--period", "cluster3=10us", "--jitter", "100ns", "--seed", "4", "--json")
    first, again = (run_command(*arguments).stdout for _ in range(2))
    assert first == again
    assert [one["generated"] for one in json.loads(first)["clusters"]].count(300) == 1


RACK = """
name: rack
target: twin
engine: {address: 10.0.0.250}
ports: [{numbers: 1-2, name: host}]
clusters: [{name: hopper, mode: iswitch, count: 1, workers: 2, ports: 1-2, ip: 10.0.1.1}]
"""

FLOOD = ("nine-clusters", "--period", "1us", "--mode", "fifo", "--duration", "1ms")
"""Frames that fill a slot: fifteen times what the engine's input takes."""

HOPS = ("multi-hop", "--period", "100ms", "--frame-bytes", "1000", "--duration", "20s", "--warm-up", "2s")


def test_a_testbeds_engines_and_links_are_simulated() -> None:
    """Figure 9: SW1 and SW2 merge, and SW3 merges again."""
    data = json.loads(run_command(*HOPS, "--json").stdout)
    assert set(data["engines"]) == {"sw1", "sw2", "sw3"}
    assert all(data["engines"][name]["merged"] > 0 for name in ("sw1", "sw2", "sw3"))
    assert 0.01 < data["loss"] < 0.3
    free = json.loads(run_command(*HOPS, "--rate", "off", "--json").stdout)
    assert free["loss"] == 0
    assert free["aom_average"] < data["aom_average"] / 5


def test_rounds_need_no_parameter_server(tmp_path: Path) -> None:
    path = tmp_path / "rack.yaml"
    path.write_text(RACK)
    data = json.loads(run_command(str(path), "--period", "10us", "--duration", "1ms", "--json").stdout)
    assert data["loss"] == 0
    assert data["clusters"][0]["frames"] > 50


def test_transmission_control_holds_updates_back() -> None:
    plain, fair, urgent = (
        json.loads(run_command(*HOPS, *more, "--json").stdout)
        for more in ((), ("--control",), ("--control", "--tolerance", "50ms", "--urgent"))
    )
    held = [sum(one["held"] for one in data["clusters"]) for data in (plain, fair, urgent)]
    assert held[0] == 0 < held[2] < held[1]
    assert fair["loss"] < plain["loss"]


def test_the_table_shows_ages_and_losses() -> None:
    output = run_command(*BUSY).stdout
    assert "cluster8" in output
    assert "of 27000 updates" in output and "under way at the end" in output


def test_unbounded_waiting_and_excess_load_are_warned_of(tmp_path: Path) -> None:
    fit = run_command(*BUSY)
    assert "warning" not in fit.stderr
    data = json.loads(run_command(*FLOOD, "--json").stdout)
    assert data["under_way"] > 0.9 * data["generated"] > 0 == data["loss"]
    said = run_command(*FLOOD, "--json").stderr
    assert f"{data['under_way']} of {data['generated']} updates" in said
    assert "its input takes 128000 Mb/s" in said
    path, beds = tmp_path / "slow.yaml", locate_testbed("multi-hop").read_text()
    path.write_text(beds.replace("\nlinks:\n", "\nlinks:\n  - {ends: [sw1.s1-1, c1-w1], rate: 500 kb/s}\n"))
    said = run_command(str(path), *HOPS[1:]).stderr
    assert said.count("warning") == 1
    assert "behind port 1 offer 0.8 Mb/s, and its cable carries 0.5 Mb/s" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nine-clusters",), "does not say how often cluster0"),
        (("nine-clusters", "--period", "x=1us", "--period", "1us"), "no cluster is called 'x'"),
        (("nine-clusters", "--period", "fast"), "--period"),
        (("nine-clusters", "--period", "0ns"), "--period"),
        ((*BUSY, "--warm-up", "2ms"), "warm-up"),
        ((*BUSY, "--rate", "fast"), "--rate"),
        ((*HOPS, "--rate", "sw9=1Mb/s"), "engine 'sw9' does not exist"),
        (("laptop", "--period", "1us", "--frame-bytes", "9000"), "a slot holds"),
        ((*BUSY, "--frame-bytes", "10"), "frames of 10 bytes"),
    ],
)
def test_bad_parameters_are_a_clear_line(arguments: tuple[str, ...], says: str) -> None:
    result = run_command(*arguments)
    assert isinstance(result.exception, BadInput)
    assert says in str(result.exception)
