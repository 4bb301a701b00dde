"""The drawn topology has every engine, link and port once, in a picture that nothing exceeds."""

import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.testbed.graph.svg import draw_svg
from olafctl.testbed.graph.tree import Rates, count_rates, make_tree
from olafctl.testbed.graph.words import draw_text, format_quantity
from tests.cli.conftest import Run, run, state

__all__ = ["run", "state"]

SHIPPED = sorted(path.stem for path in (paths.sources() / "testbeds").glob("*.yaml"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", SHIPPED)
def test_no_box_overlaps_another_or_leaves_the_picture(name: str) -> None:
    testbed = testbeds.load_testbed(testbeds.locate_testbed(name))
    drawn = ElementTree.fromstring(draw_svg(name, make_tree(testbed, {})))
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    boxes = [
        tuple(float(box.attrib[side]) for side in ("x", "y", "width", "height"))
        for box in drawn.iter(f"{SVG}rect")
        if "class" in box.attrib
    ]
    assert len(boxes) == len(testbed.engines) + len(testbed.ports)
    for x, y, wide, high in boxes:
        assert 0 <= x <= x + wide <= width and 0 <= y <= y + high <= height
    for (x, y, wide, high), (other_x, other_y, _, _) in itertools.permutations(boxes, 2):
        assert other_x >= x + wide or other_x + wide <= x or other_y >= y + high or other_y + high <= y


@pytest.mark.parametrize("name", SHIPPED)
def test_every_engine_and_port_is_named_once(name: str) -> None:
    testbed = testbeds.load_testbed(testbeds.locate_testbed(name))
    root = make_tree(testbed, {})
    drawn = ElementTree.fromstring(draw_svg(name, root))
    names = [words.text for words in drawn.iter(f"{SVG}text") if words.attrib["class"] == "name"]
    engines = [engine.name for engine in testbed.engines] if len(testbed.engines) > 1 else [testbed.name]
    assert sorted(map(str, names)) == sorted([*engines, *(port.name for port in testbed.ports)])
    lines = draw_text(root).splitlines()
    assert len(lines) == len(testbed.engines) + len(testbed.ports)
    for port in testbed.ports:
        assert sum(f"─ {port.name}: " in line for line in lines) == 1


def test_engines_stand_in_the_order_in_which_updates_pass_them() -> None:
    drawn = draw_svg("multi-hop", make_tree(testbeds.load_testbed(testbeds.locate_testbed("multi-hop")), {}))
    left = {
        name: float(x) for x, name in re.findall(r'class="name" x="([0-9.]+)" y="[0-9.]+">([^<]+)<', drawn)
    }
    assert left["s1-1"] < left["sw1"] == left["sw2"] < left["sw3"] < left["ps"]
    assert drawn.count("1 Gb/s, 1 ms</text>") == 2


def test_rates_are_what_the_counters_grew_by_in_a_second() -> None:
    names = ("rx_frames", "rx_bytes", "tx_frames", "tx_bytes")
    before = {2: dict(zip(names, (10, 1000, 0, 0), strict=True))}
    after = {2: dict(zip(names, (30, 5000, 6, 900), strict=True))}
    found = count_rates(before, after, 2.0)
    assert found == {2: Rates(10.0, 16000.0, 3.0, 3600.0)}
    laptop = make_tree(testbeds.load_testbed(testbeds.locate_testbed("laptop")), found)
    assert "worker2: lander-w0; in 10 frames/s, 16 kb/s; out 3 frames/s, 3.6 kb/s" in draw_text(laptop)
    assert "→ 10 frames/s, 16 kb/s" in draw_svg("laptop", laptop)
    assert draw_text(laptop).count("frames/s") == 2


@pytest.mark.parametrize(
    ("value", "output"),
    [
        (0, "0 b/s"),
        (0.5, "0.5 b/s"),
        (999.4, "999 b/s"),
        (999.6, "1 kb/s"),
        (1.5e6, "1.5 Mb/s"),
        (4e16, "40000 Tb/s"),
    ],
)
def test_quantities_have_three_digits(value: float, output: str) -> None:
    assert format_quantity(value, "b/s") == output


def test_a_testbed_that_is_not_deployed_is_drawn_without_rates(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "laptop.svg"
    assert run("graph", "laptop", "-o", file).out == f"wrote {file}\n"
    assert "laptop on twin, not running" in file.read_text()
    assert run("graph", "laptop", "--text").out.startswith("laptop (8 slots)\n├─ ps: ps\n")
    assert json.loads(run("graph", "laptop", "--json").out)["root"]["slots"] == 8
    assert run("graph", "nowhere").code == 2
    assert run("graph", "laptop", "-o", tmp_path / "no" / "file").code == 1
