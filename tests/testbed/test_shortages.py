"""A testbed whose slots never suffice is named before anybody wonders."""

from pathlib import Path

import pytest

from olafctl.testbed.shortages import find_shortages
from olafctl.wire.geometry import JUMBO_MTU, STANDARD_MTU, segment_values
from tests.testbed.test_load import load

CLUSTERS = """\
engine: {{indices: 64, slots: {slots}, beats: 24}}
clusters:
  - {{count: 1, workers: 2, name: one, port: 1, ip: 10.0.1.1, values: 9155}}
"""


@pytest.mark.parametrize(("slots", "notes"), [(8, 1), (26, 0)])
def test_fewer_slots_than_one_models_segments_are_noted(tmp_path: Path, slots: int, notes: int) -> None:
    found = list(find_shortages(load(tmp_path, CLUSTERS.format(slots=slots))))
    assert len(found) == notes
    assert all("26 segments" in note and "P_s = 0.31" in note for note in found)


@pytest.mark.parametrize(("target", "notes"), [("twin", 1), ("software", 0)])
def test_shards_are_noted_where_the_target_has_one_thread(tmp_path: Path, target: str, notes: int) -> None:
    bed = load(tmp_path, f"target: {target}\nengine: {{shards: 2}}\nclusters: []\n")
    found = list(find_shortages(bed))
    assert len(found) == notes
    assert all("shards are left out; use the target software" in note for note in found)


@pytest.mark.parametrize(("beats", "mtu"), [(24, STANDARD_MTU), (142, JUMBO_MTU)])
@pytest.mark.parametrize("values", [1, 360, 361, 2205, 2242, 9155, 137_477])
def test_testbeds_and_scripts_divide_alike(beats: int, mtu: int, values: int) -> None:
    segments = pytest.importorskip("olaf.transport.segments", reason="needs the SDK: pip install ./sdk")
    assert segments.Segments.of(values, mtu).count == -(-values // segment_values(beats))
