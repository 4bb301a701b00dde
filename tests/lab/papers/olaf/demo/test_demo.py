"""The demo itself, on the twin; its packet tests are the packet tests' own matter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl.control.store import Record, RecordRole, Store, folder_of


def run_demo(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "olafctl", "demo", *words]
    environment = {**os.environ, "OLAF_STATE": str(state)}
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_the_demo_shows_table_1_saves_its_plots_and_leaves_nothing(tmp_path: Path) -> None:
    state, output = tmp_path / "state", tmp_path / "figures"
    done = run_demo(state, "--no-tests", "--json", "-o", str(output))
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert len(data["paper"]) == 4
    assert [(ours["at_once"], len(ours["runs"])) for ours in data["ours"]] == [(4, 5), (9, 1)]
    for ours in data["ours"]:
        fifo40, olaf40, fifo20, olaf20 = ours["rows"]
        assert 50 < fifo40["lost"] < 60 and 70 < fifo20["lost"] < 80
        assert 5 * olaf40["lost"] <= fifo40["lost"] and 5 * olaf20["lost"] <= fifo20["lost"]
        for run in ours["runs"]:
            assert [replay["violations"] for replay in run] == [[]] * 5
            assert run[4]["received"] < run[3]["received"] < run[1]["received"]
    in_turn, together = (ours["aom_reduction"] for ours in data["ours"])
    assert in_turn["40G"]["mean"] > 60 and in_turn["20G"]["mean"] > 70
    assert together["40G"]["mean"] > 45 and together["20G"]["mean"] > 60
    assert sorted(path.name for path in output.iterdir()) == [
        "age-of-model.png",
        "age-of-model.svg",
        "figure6.png",
        "figure6.svg",
    ]
    assert not list(state.glob("*")), "something of the deployment is left"


def test_what_is_deployed_already_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    store = Store(folder_of("nine-clusters"))
    store.put(RecordRole.RUNNING, Record("name: nine-clusters", Path("mine.yaml"), "twin", "key"))
    done = run_demo(tmp_path / "state", "-o", str(tmp_path))
    assert done.returncode == 1
    assert "nine-clusters: is deployed already" in done.stderr
    assert "olafctl destroy --deployment nine-clusters" in done.stderr
    assert store.record(RecordRole.RUNNING) is not None


def test_a_folder_that_cannot_be_made_is_reported_before_anything_is_deployed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_demo(tmp_path / "state", "-o", str(tmp_path / "file" / "figures"))
    assert done.returncode == 1
    assert "cannot be made" in done.stderr
    assert not (tmp_path / "state").exists()
