"""Machines in a testbed: which engine is where, and what each machine has of it."""

from pathlib import Path

import pytest

from olafctl.targets import testbeds
from olafctl.testbed.machines import share
from olafctl.testbed.model import Machine
from olafswitch.errors import BadInput

TREE = """\
name: racks
machines:
  - {name: m1, address: 192.0.2.1:9700}
  - {name: m2, address: 192.0.2.2:9700}
engines:
  - name: root
    machine: m1
    ports:
      - {number: 1, name: rack1, transport: nic, path: cable0}
      - {number: 3, name: ps}
  - name: tor1
    machine: m2
    ports:
      - {numbers: 11-12, name: host}
      - {number: 14, name: up1, transport: nic, path: cable0}
      - {number: 15, name: down1}
  - name: leaf
    machine: m2
    ports:
      - {number: 21, name: far}
      - {number: 22, name: up2}
links:
  - {ends: [tor1.up1, root.rack1]}
  - {ends: [leaf.up2, tor1.down1], delay: 1 us}
parameter_servers:
  - {name: ps, port: ps, ip: 10.0.0.254}
clusters:
  - name: walker
    workers:
      - {name: w0, port: host11, ip: 10.0.1.11}
      - {name: w1, port: far, ip: 10.0.1.12}
"""


def test_each_machine_has_its_engines_ports_and_cables(tmp_path: Path) -> None:
    bed = testbeds.load(tmp_path / "bed.yaml", TREE)
    assert bed.machines == (Machine("m1", "192.0.2.1:9700"), Machine("m2", "192.0.2.2:9700"))
    root, below = share(bed, "m1"), share(bed, "m2")
    assert [port.name for port in root.ports] == ["rack1", "ps"]
    assert (root.links, root.trunks) == ((), ())
    assert [engine.name for engine in below.engines] == ["tor1", "leaf"]
    assert [port.name for port in below.ports] == ["host11", "host12", "up1", "far"]
    assert [port.name for port in below.trunks] == ["down1", "up2"]
    assert [(link.port, link.peer) for link in below.links] == [(22, 15)]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "machine: m1",
            "machine: m3",
            "7: engines[0].machine: machine 'm3' does not exist (one of m1, m2)",
        ),
        (
            "    machine: m1\n",
            "",
            "6: engines[0].machine: is missing (every engine runs on a machine: one of m1, m2)",
        ),
        (
            "192.0.2.2:9700",
            "192.0.2.2",
            "4: machines[1].address: '192.0.2.2' is not HOST:PORT (give where its agent "
            "listens, such as address: "
            "192.0.2.7:9700)",
        ),
        (
            "192.0.2.2:9700",
            "192.0.2.1:9700",
            "4: machines[1].address: 192.0.2.1:9700 is already the address of m1 (each machine "
            "has one agent)",
        ),
        (
            "name: m2",
            "name: m1",
            "4: machines[1].name: the name 'm1' is already taken on line 3 (rename one)",
        ),
        (
            ", name: rack1, transport: nic, path: cable0",
            ", name: rack1",
            "23: links[0].ends[1]: port 1 leads to another machine and names no network "
            "interface (give the port "
            "transport: nic and path: the interface of its cable)",
        ),
        (
            "{ends: [tor1.up1, root.rack1]}",
            "{ends: [tor1.up1, root.rack1], rate: 1 Gb/s}",
            "23: links[0].rate: is of a simulated cable, and this one joins two machines (take "
            "it out; tc on the "
            "interface makes a link slower)",
        ),
        (
            "{numbers: 11-12, name: host}",
            "{numbers: 11-12, name: host}\n      - {number: 13, name: more, transport: nic, path: cable0}",
            "16: engines[1].ports[2]: interface cable0 is also port 13's on line 15 (give each "
            "port a path of its own, "
            "with {number} in a range's)",
        ),
        (
            "- {number: 15, name: down1}",
            "- {number: 15, name: down1, transport: nic, path: cable1}",
            "24: links[1].ends[1]: port 15 has a transport, but no host is at the other end "
            "(take transport and path "
            "out)",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, error: str) -> None:
    assert old in TREE
    with pytest.raises(BadInput) as caught:
        testbeds.load(tmp_path / "bed.yaml", TREE.replace(old, new, 1))
    found = [str(problem).removeprefix(f"{tmp_path}/bed.yaml:") for problem in caught.value.problems]
    assert error in found


def test_an_engine_on_a_machine_needs_machines(tmp_path: Path) -> None:
    text = TREE[TREE.index("engines:") :]
    with pytest.raises(BadInput, match="machine 'm1' does not exist"):
        testbeds.load(tmp_path / "bed.yaml", text)
