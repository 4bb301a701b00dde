"""Machines in a testbed: the place of each engine, and each machine's share."""

from pathlib import Path

import pytest

from olafctl.targets import testbeds
from olafctl.testbed.machines import share_of
from olafctl.testbed.model import TestbedMachine
from olafswitch.errors import BadInput
from tests.testbed.wrong_testbeds import right

TREE = right("racks")


def test_each_machine_has_its_engines_ports_and_cables(tmp_path: Path) -> None:
    bed = testbeds.load_testbed(tmp_path / "bed.yaml", TREE)
    assert bed.machines == (TestbedMachine("m1", "192.0.2.1:9700"), TestbedMachine("m2", "192.0.2.2:9700"))
    root, below = share_of(bed, "m1"), share_of(bed, "m2")
    assert [port.name for port in root.ports] == ["rack1", "ps"]
    assert (root.links, root.trunks) == ((), ())
    assert [engine.name for engine in below.engines] == ["tor1", "leaf"]
    assert [port.name for port in below.ports] == ["host11", "host12", "up1", "far"]
    assert [port.name for port in below.trunks] == ["down1", "up2"]
    assert [(link.port, link.peer) for link in below.links] == [(22, 15)]


def test_shards_are_for_an_engine_alone_on_its_machine(tmp_path: Path) -> None:
    text = "target: software\n" + TREE.replace("machine: m1", "machine: m1\n    shards: 2")
    bed = testbeds.load_testbed(tmp_path / "bed.yaml", text)
    assert [share_of(bed, machine.name).shards for machine in bed.machines] == [2, 1]
    with pytest.raises(BadInput, match="take shards out: engines of one machine share a thread"):
        testbeds.load_testbed(tmp_path / "bed.yaml", TREE.replace("name: leaf", "name: leaf\n    shards: 2"))


def test_an_engine_on_a_machine_needs_machines(tmp_path: Path) -> None:
    text = TREE[TREE.index("engines:") :]
    with pytest.raises(BadInput, match="machine 'm1' does not exist"):
        testbeds.load_testbed(tmp_path / "bed.yaml", text)
