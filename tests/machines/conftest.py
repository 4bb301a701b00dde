"""Two machines with the testbed two-racks over them, and a desk."""

from collections.abc import Iterator

import pytest

from olafctl import paths
from olaftest.daemon.machines import PORT, MachineLab, lab, why_not


def read_shipped(bed: str) -> str:
    return (paths.sources() / "testbeds" / f"{bed}.yaml").read_text()


def over_machines(text: str, target: str, machines: int, *changes: tuple[str, str]) -> str:
    """Return a testbed for the twin with ``changes``, on machines of the lab."""
    listed = "".join(f"  - {{name: m{n}, address: 10.97.0.{n + 1}:{PORT}}}\n" for n in range(1, machines + 1))
    for old, new in (("target: twin\n", f"target: {target}\nmachines:\n{listed}"), *changes):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def two_racks(target: str) -> str:
    """Return two-racks with its root and a rack on machine m1, the other rack on m2, in two shards."""
    return over_machines(
        read_shipped("two-racks"), target, 2,
        ("  - name: root\n", "  - name: root\n    machine: m1\n"),
        ("  - name: tor1\n", "  - name: tor1\n    machine: m1\n"),
        ("  - name: tor2\n", "  - name: tor2\n    machine: m2\n    shards: 2\n"),
        ("{numbers: 1-2, name: rack}", "{number: 1, name: rack1}\n      - {number: 2, name: rack2, "
         "transport: nic, path: cable0}"),
        ("name: up2}", "name: up2, transport: nic, path: cable0}"),
        ("root.rack2], rate: 10 Gb/s, delay: 1 us}", "root.rack2]}"),
    )  # fmt: skip


_ABOVE = """\
  - name: sw4
    machine: m4
    slots: 8
    beats: 16
    active_window: 200 ms
    ports:
      - {number: 31, name: down31, transport: nic, path: cable3}
      - {number: 32, name: ps}
"""


def multi_hop(target: str) -> str:
    """Return a testbed with an engine on each of four machines: one more above the three."""
    return over_machines(
        read_shipped("multi-hop"), target, 4,
        *((f"  - name: sw{n}\n", f"  - name: sw{n}\n    machine: m{n}\n") for n in (1, 2, 3)),
        *((f"name: up{n}}}", f"name: up{n}, transport: nic, path: cable{n}}}") for n in (1, 2)),
        ("{numbers: 21-22, name: down}", "{number: 21, name: down21, transport: nic, path: cable1}\n"
         "      - {number: 22, name: down22, transport: nic, path: cable2}"),
        *((f"sw3.down2{n}], rate: 1 Gb/s, delay: 1 ms}}", f"sw3.down2{n}]}}") for n in (1, 2)),
        ("{number: 23, name: ps}\n", "{number: 23, name: up3, transport: nic, path: cable3}\n" + _ABOVE),
        ("parameter_servers:", "  - {ends: [sw3.up3, sw4.down31]}\n\nparameter_servers:"),
    )  # fmt: skip


def deployed_without(made: MachineLab, bed: str, machine: str) -> str:
    """Return the output of a deploy that fails because a machine's agent is killed while it starts
    engines."""
    with made.begin_python("-m", "olafctl", "deploy", bed) as deploying:
        assert deploying.stderr is not None
        said = ""
        for step in deploying.stderr:
            said += step
            if step.endswith(f"{machine}: starting\n"):
                made.kill_agent(machine)
    made.start_agent(machine)
    assert deploying.returncode == 1
    return said


@pytest.fixture(scope="module", params=["software", pytest.param("twin", marks=pytest.mark.slow)])
def racks(request: pytest.FixtureRequest) -> Iterator[MachineLab]:
    """Provide two machines and a cable; the testbed is in the desk's folder."""
    if reason := why_not():
        pytest.skip(reason)
    with lab("m1", "m2") as made:
        made.join_cable("m1", "m2", "cable0")
        (made.folder / "two-racks.yaml").write_text(two_racks(request.param))
        yield made
