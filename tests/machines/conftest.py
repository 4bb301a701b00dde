"""Two machines with the testbed two-racks over them, and a desk."""

import os
import shutil
from collections.abc import Iterator

import pytest

from olafctl import paths
from tests.machines.lab import PORT, Lab, lab, short_folder, why_not


def two_racks(target: str) -> str:
    """The shipped testbed, its root and one rack on machine m1, the other rack on m2."""
    text = (paths.sources() / "testbeds" / "two-racks.yaml").read_text()
    machines = "".join(f"  - {{name: m{n}, address: 10.97.0.{n + 1}:{PORT}}}\n" for n in (1, 2))
    for old, new in (
        ("target: twin\n", f"target: {target}\nmachines:\n{machines}"),
        ("  - name: root\n", "  - name: root\n    machine: m1\n"),
        ("  - name: tor1\n", "  - name: tor1\n    machine: m1\n"),
        ("  - name: tor2\n", "  - name: tor2\n    machine: m2\n"),
        ("{numbers: 1-2, name: rack}", "{number: 1, name: rack1}\n      - {number: 2, name: rack2, "
         "transport: nic, path: cable0}"),
        ("name: up2}", "name: up2, transport: nic, path: cable0}"),
        ("root.rack2], rate: 10 Gb/s, delay: 1 us}", "root.rack2]}"),
    ):  # fmt: skip
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


SLOW = pytest.mark.skipif("OLAF_TEST_ALL" not in os.environ, reason="takes minutes: make test-all")


@pytest.fixture(scope="module", params=["software", pytest.param("twin", marks=SLOW)])
def racks(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Two machines and a cable; the testbed is in the desk's folder."""
    if reason := why_not():
        pytest.skip(reason)
    folder = short_folder()
    try:
        with lab(folder, "m1", "m2") as made:
            made.cable("m1", "m2", "cable0")
            (folder / "two-racks.yaml").write_text(two_racks(request.param))
            yield made
    finally:
        shutil.rmtree(folder)
