"""``olafctl init`` writes a commented testbed that loads."""

import json
from pathlib import Path

import pytest

from olafctl.targets import testbeds
from tests.cli.conftest import Run


@pytest.mark.parametrize(("clusters", "workers"), [(1, 2), (1, 1), (9, 3), (100, 3), (1024, 1)])
def test_what_it_writes_loads_and_explains_itself(
    clusters: int, workers: int, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    ended = run("init", path, "--clusters", clusters, "--workers", workers, "--slots", 5)
    assert (ended.code, ended.out) == (0, f"wrote {path}; next: olafctl deploy {path}\n")
    bed = testbeds.load_testbed(path)
    assert (bed.name, len(bed.clusters), len(bed.workers)) == ("mine", clusters, clusters * workers)
    assert (bed.root.slots, bed.root.indices >= clusters) == (5, True)
    assert path.read_text().count("#") > 20


def test_it_replaces_a_file_only_on_request(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    ended = run("init", path)
    assert (ended.code, path.read_text()) == (2, "precious")
    assert ended.err == f"error: {path}: is there already (choose another path, or use --force)\n"
    assert run("init", path, "--force").code == 0
    assert testbeds.load_testbed(path).name == "mine"


def test_what_would_not_load_is_not_written(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    ended = run("init", path, "--clusters", 600, "--workers", 30)
    assert ended.code == 2
    assert "more workers than the 16384 entries of the table `workers`" in ended.err
    assert not path.exists()


def test_a_missing_folder_is_reported(run: Run, tmp_path: Path) -> None:
    ended = run("init", tmp_path / "absent" / "mine.yaml")
    assert ended.code == 1
    assert "cannot be written: No such file or directory" in ended.err


def test_a_file_name_that_is_not_a_name_gives_one(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "my bed!.yaml"
    assert run("init", path).code == 0
    assert testbeds.load_testbed(path).name == "my-bed"


def test_what_was_written_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert json.loads(run("init", path, "--json").out) == {"path": str(path), "name": "mine"}
