"""A rack is added, and then removed: other racks' frames pass meanwhile, and their engines go on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from olaftest.daemon.machines import MachineLab, lab, star_testbed, why_not
from tests.machines.conftest import deployed_without
from tests.machines.test_two_racks import ENGINE

OLD, ALL = ("m1", "m2"), ("m1", "m2", "m3")


@pytest.fixture
def racks() -> Iterator[MachineLab]:
    if reason := why_not():
        pytest.skip(reason)
    with lab(*ALL) as made:
        for number in (2, 3):
            made.join_cable("m1", f"m{number}", f"cable{number}")
        yield made


def write_testbed(made: MachineLab, names: tuple[str, ...]) -> str:
    folder = made.folder / "-".join(names)
    folder.mkdir()
    (folder / "many.yaml").write_text(star_testbed(made, names, "fifo"))
    return str(folder / "many.yaml")


@contextmanager
def send_numbered(made: MachineLab, bed: str) -> Iterator[dict[str, Any]]:
    """Send frames of the first rack inside the context, as numbered.py says; yield its later result."""
    found: dict[str, Any] = {}
    with made.begin_python(str(Path(__file__).with_name("numbered.py")), bed) as sending:
        assert sending.stdout is not None
        assert sending.stdout.readline() == "flows\n"
        yield found
        found.update(json.loads(sending.communicate()[0]))


def engine_names(made: MachineLab, names: tuple[str, ...]) -> list[int]:
    return [each.pid for name in names for each in made.machines[name].processes(ENGINE)]


def test_a_rack_comes_and_goes_and_no_frame_of_the_others_is_lost(racks: MachineLab) -> None:
    old, new = write_testbed(racks, OLD), write_testbed(racks, ALL)
    racks.olafctl("deploy", old)
    kept = engine_names(racks, OLD)
    with send_numbered(racks, old) as found:
        foreseen = racks.olafctl("deploy", "--dry-run", new)
        for line in ("  machine m1: root go", "  machine m2: r2 go", "+ machine m3: r3", "+ m1: port 3 (nic"):
            assert line in foreseen
        assert "r2/vnp4_1 workers worker_addr 10.0.1.2 " not in foreseen
        assert "going back to what ran before" in deployed_without(racks, new, "m3")
        racks.olafctl("deploy", new)
        racks.olafctl("status")
        racks.olafctl("deploy", old)
        racks.olafctl("status")
        racks.olafctl("deploy", new)
    assert (found["lost"], found["sent"] > 0) == ([], True)
    assert engine_names(racks, OLD) == kept
    assert len(engine_names(racks, ALL)) == 3
    assert " passed" in racks.olafctl("test", "-k", "several_engines")
