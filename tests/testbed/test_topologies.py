"""Several engines in a testbed: the tree that their links make."""

from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed, TestbedLink
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from tests.testbed.wrong_testbeds import right

RIGHT = right("tree")
SERVER = "  - {port: ps, ip: 10.0.0.254}\n"
THIRD = "{ends: [sw3.ps, ps], rate: 10 Mb/s}"


def load(folder: Path, text: str) -> Testbed:
    path = folder / "bed.yaml"
    path.write_text(text)
    return testbeds.load_testbed(path)


def test_rounds_over_several_engines_need_every_worker(tmp_path: Path) -> None:
    text = RIGHT.replace("name: sw3", "name: sw3\n    address: 10.0.0.250")
    text = text.replace("name: red", "name: red\n    mode: iswitch\n    threshold: 1")
    with pytest.raises(BadInput, match="at several engines") as caught:
        load(tmp_path, text)
    line = text[: text.index("threshold:")].count("\n") + 1
    [problem] = caught.value.problems
    assert problem.where == f"{tmp_path / 'bed.yaml'}:{line}: clusters[0].threshold"
    assert load(tmp_path, text.replace("threshold: 1", "threshold: 2")).clusters[0].mode is Mode.ISWITCH


def test_the_links_lead_to_the_root_in_either_notation(
    tmp_path: Path,
) -> None:
    bed = load(tmp_path, RIGHT)
    assert [engine.name for engine in bed.engines] == ["sw3", "sw1", "sw2"]
    assert bed.links == (
        TestbedLink(port=13, peer=2, rate=1_000_000_000, delay=1_000_000, queue=1000),
        TestbedLink(port=23, peer=3, rate=None, delay=1_000, queue=5),
        TestbedLink(port=1, peer=None, rate=10_000_000, delay=1_000, queue=1000),
    )
    assert [port.number for port in bed.trunks] == [2, 3, 13, 23]
    assert [port.number for port in bed.ports] == [1, 4, 11, 12, 14, 21, 22, 24]


def test_the_topology_says_which_way_everything_goes(tmp_path: Path) -> None:
    bed = load(tmp_path, RIGHT)
    topology = Topology(bed)
    red, blue = bed.clusters
    assert [topology.parent(name) for name in ("sw1", "sw2", "sw3")] == ["sw3", "sw3", None]
    assert topology.children == {"sw3": ["sw1", "sw2"], "sw1": [], "sw2": []}
    assert topology.path_up("sw2") == ["sw2", "sw3"]
    assert [topology.port_towards(name, red.workers[1].port) for name in ("sw1", "sw2", "sw3")] == [13, 21, 3]
    assert (topology.top(red), topology.top(blue)) == ("sw3", "sw1")
    assert [worker.name for worker in topology.members_below("sw1", red)] == ["red-w0"]
    assert topology.is_spread(red) and not topology.is_spread(blue)


def test_the_root_is_at_the_parameter_server_or_its_address(
    tmp_path: Path,
) -> None:
    moved = RIGHT.replace("{port: ps, ip: 10.0.0.254}", "{port: a12, ip: 10.0.0.254}").replace(THIRD, "{}")
    moved = moved.replace("  - {}\n", "")
    assert [engine.name for engine in load(tmp_path, moved).engines] == ["sw1", "sw3", "sw2"]
    text = RIGHT.replace(SERVER, "").replace("parameter_servers:\n", "").replace(f"  - {THIRD}\n", "")
    text = text.replace("- name: red", "- mode: iswitch\n    name: red").replace(
        "{name: blue", "{mode: iswitch, name: blue"
    )
    with pytest.raises(BadInput, match="no engine with an address"):
        load(tmp_path, text)
    text = text.replace("name: sw2", "name: sw2\n    address: 10.0.0.250")
    assert load(tmp_path, text).root.name == "sw2"


def test_engine_stays_the_short_form_of_one_engine(tmp_path: Path) -> None:
    short = "ports: [{number: 1, name: ps}]\nparameter_servers: [{port: 1, ip: 10.0.0.1}]\nclusters: []\n"
    slots = load(tmp_path, f"engine: {{slots: 5}}\n{short}")
    ports, rest = short.split("\n", 1)
    long = load(tmp_path, f"engines:\n  - name: engine\n    slots: 5\n    {ports}\n{rest}")
    assert replace(long, text=slots.text) == slots
    linked = load(tmp_path, f"{short}links: [{{ends: [engine.ps, ps], delay: 5 ms}}]\n")
    assert [(link.port, link.peer, link.delay) for link in linked.links] == [(1, None, 5_000_000)]
