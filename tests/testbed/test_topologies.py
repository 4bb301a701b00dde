"""Several engines in a testbed: the tree that their links make, and the errors of wrong ones."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.testbed.model import Link, Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode
from olafswitch.errors import EXIT_BAD_INPUT, BadInput

RIGHT = """\
name: tree
engines:
  - name: sw1
    ports: [{numbers: 11-12, name: a}, {number: 13, name: up1}, {number: 14, name: x}]
  - name: sw2
    ports: [{numbers: 21-22, name: b}, {number: 23, name: up2}, {number: 24, name: y}]
  - name: sw3
    ports: [{number: 1, name: ps}, {numbers: 2-4, name: down}]
links:
  - {ends: [sw1.up1, sw3.down2], rate: 1 Gb/s, delay: 1 ms}
  - {ends: [sw3.3, sw2.23], queue: 5}
  - {ends: [sw3.ps, ps], rate: 10 Mb/s}
parameter_servers:
  - {port: ps, ip: 10.0.0.254}
clusters:
  - name: red
    workers:
      - {port: a11, ip: 10.0.1.1}
      - {port: b21, ip: 10.0.1.2}
  - {name: blue, count: 1, workers: 2, ports: 11-12, ip: 10.0.2.1}
"""


@dataclass(frozen=True)
class Wrong:
    """``RIGHT`` with ``old`` replaced by ``new``: the line, the field and decisive words of the error."""

    name: str
    old: str
    new: str
    line: int
    field: str
    words: str


ENGINES = RIGHT[RIGHT.index("engines:") : RIGHT.index("links:")]
SERVER = "  - {port: ps, ip: 10.0.0.254}\n"
FIRST = "{ends: [sw1.up1, sw3.down2], rate: 1 Gb/s, delay: 1 ms}"
SECOND = "{ends: [sw3.3, sw2.23], queue: 5}"
THIRD = "{ends: [sw3.ps, ps], rate: 10 Mb/s}"

TABLE = [
    Wrong("loop", THIRD, "{ends: [sw1.x, sw2.y]}", 12, "links[2]", "closes a loop: sw1 and sw2"),
    Wrong("doubled", THIRD, "{ends: [sw1.x, sw3.down4]}", 12, "links[2]", "closes a loop: sw1 and sw3"),
    Wrong("no-way", f"  - {SECOND}\n", "", 5, "engines[1]", "sw2 has no way to sw3"),
    Wrong("no-link", f"  - {FIRST}\n", "", 3, "engines[0]", "sw1 has no way to sw3"),
    Wrong("unknown-engine", "sw1.up1", "sw9.up1", 10, "links[0].ends[0]", "'sw9.up1' is neither"),
    Wrong("unknown-port", "sw1.up1", "sw1.up9", 10, "links[0].ends[0]", "sw1 has no port 'up9'"),
    Wrong("other-s-port", "sw1.up1", "sw1.up2", 10, "links[0].ends[0]", "sw1 has no port 'up2'"),
    Wrong(
        "unknown-host",
        "[sw3.ps, ps]",
        "[sw3.ps, stranger]",
        12,
        "links[2].ends[1]",
        "neither an engine's port nor",
    ),
    Wrong("host-elsewhere", "[sw3.ps, ps]", "[sw3.4, ps]", 12, "links[2].ends[1]", "ps is at port 1"),
    Wrong("two-hosts", "[sw3.ps, ps]", "[ps, red-w0]", 12, "links[2].ends", "names no engine"),
    Wrong("one-end", "[sw3.3, sw2.23]", "[sw3.3]", 11, "links[1].ends", "has 1 ends"),
    Wrong("no-ends", "ends: [sw3.3, sw2.23], ", "", 11, "links[1].ends", "is missing"),
    Wrong("zero-rate", "1 Gb/s", "0 Gb/s", 10, "links[0].rate", "0 Gb/s is an impossible rate"),
    Wrong("zero-delay", "1 ms", "0 ms", 10, "links[0].delay", "0 ms is out of range"),
    Wrong("zero-queue", "queue: 5", "queue: 0", 11, "links[1].queue", "0 is out of range"),
    Wrong(
        "zero-output",
        "name: sw1\n",
        "name: sw1\n    output_rate: 0 b/s\n",
        4,
        "engines[0].output_rate",
        "rate",
    ),
    Wrong(
        "two-of-one-name", "name: sw2", "name: sw1", 5, "engines[1].name", "'sw1' is already taken on line 3"
    ),
    Wrong("no-name", "- name: sw2\n    ports", "- ports", 5, "engines[1].name", "is missing"),
    Wrong("port-used-twice", "sw3.3,", "sw3.down2,", 11, "links[1].ends[0]", "already the link's on line 10"),
    Wrong("self", "[sw3.3, sw2.23]", "[sw3.3, sw3.4]", 11, "links[1].ends", "joins sw3 to itself"),
    Wrong("same-number", "number: 23", "number: 13", 6, "engines[1].ports[1]", "already declared on line 4"),
    Wrong("same-port-name", "name: up2", "name: up1", 6, "engines[1].ports[1]", "already taken on line 4"),
    Wrong("host-at-a-trunk", "port: b21", "port: up2", 19, "workers[1].port", "leads to another engine"),
    Wrong("trunk-transport", "name: up1", "name: up1, transport: unix", 10, "ends[0]", "has a transport"),
    Wrong("engine-too", "name: tree\n", "name: tree\nengine: {}\n", 2, "engine", "stands next to engines"),
    Wrong("ports-too", "name: tree\n", "name: tree\nports: [{number: 9}]\n", 2, "ports", "next to engines"),
    Wrong("no-engines", ENGINES, "engines: []\n", 2, "engines", "lists no engine"),
    Wrong(
        "no-ports",
        "    ports: [{numbers: 21-22, name: b}, {number: 23, name: up2}, {number: 24, name: y}]\n",
        "",
        5,
        "ports",
        "is missing",
    ),
    Wrong(
        "server-too",
        SERVER,
        SERVER + "  - {port: a12, ip: 10.0.0.253}\n",
        13,
        "servers",
        "are at sw1 and sw3",
    ),
    Wrong(
        "address", "name: sw1\n", "name: sw1\n    address: 10.0.0.9\n", 4, "address", "the root, which is sw3"
    ),
    Wrong(
        "iswitch-at-one", "name: sw1\n", "name: sw1\n    mode: iswitch\n", 2, "engines", "some engines only"
    ),
    Wrong("reserved", "ip: 10.0.1.1}", "ip: 240.0.1.1}", 18, "ip", "red-w0 has 240.0.1.1, and engines use"),
    Wrong(
        "trunk-impaired", "name: up1", "name: up1, impair: {loss: 1 %}", 10, "ends[0]", "port 13 is impaired"
    ),
    Wrong(
        "reserved-engine",
        "name: sw3\n",
        "name: sw3\n    address: 240.0.0.1\n",
        8,
        "engines[2].address",
        "sw3 has 240.0.0.1",
    ),
    Wrong("unknown-key", "queue: 5", "quue: 5", 11, "links[1].quue", "unknown key"),
    Wrong("few-indices", "name: sw1\n", "name: sw1\n    indices: 1\n", 21, "clusters[1]", "tracks 1 indices"),
]


def load(folder: Path, text: str) -> Testbed:
    path = folder / "bed.yaml"
    path.write_text(text)
    return testbeds.load(path)


@pytest.mark.parametrize("wrong", TABLE, ids=lambda wrong: wrong.name)
def test_each_wrong_topology_is_a_line_with_its_place(wrong: Wrong, tmp_path: Path) -> None:
    assert RIGHT.count(wrong.old) == 1
    with pytest.raises(BadInput) as caught:
        load(tmp_path, RIGHT.replace(wrong.old, wrong.new))
    assert caught.value.exit_code == EXIT_BAD_INPUT
    first = caught.value.problems[0]
    printed = next((problem for problem in caught.value.problems if wrong.words in problem.what), first)
    assert wrong.words in printed.what
    assert printed.where.startswith(f"{tmp_path / 'bed.yaml'}:{wrong.line}")
    assert printed.where.endswith(wrong.field)
    assert printed.remedy


def test_one_mistake_is_one_line(tmp_path: Path) -> None:
    """What only follows from another mistake is not reported."""
    alone = [
        wrong for wrong in TABLE if wrong.name not in ("no-engines", "no-ports", "no-name", "two-of-one-name")
    ]
    for wrong in alone:
        with pytest.raises(BadInput) as caught:
            load(tmp_path, RIGHT.replace(wrong.old, wrong.new))
        assert len(caught.value.problems) == 1, [wrong.name, *map(str, caught.value.problems)]


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
        Link(port=13, peer=2, rate=1_000_000_000, delay=1_000_000, queue=1000),
        Link(port=23, peer=3, rate=None, delay=1_000, queue=5),
        Link(port=1, peer=None, rate=10_000_000, delay=1_000, queue=1000),
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


@pytest.mark.parametrize(
    ("name", "engines", "slots", "workers"),
    [
        ("multi-hop", ["sw3", "sw1", "sw2"], [8, 5, 5], 100),
        ("two-racks", ["root", "tor1", "tor2"], [16] * 3, 9),
    ],
)
def test_the_shipped_topologies_are_right(
    name: str, engines: list[str], slots: list[int], workers: int
) -> None:
    bed = testbeds.load(paths.sources() / "testbeds" / f"{name}.yaml")
    assert [engine.name for engine in bed.engines] == engines
    assert [engine.slots for engine in bed.engines] == slots
    assert len(bed.workers) == workers
