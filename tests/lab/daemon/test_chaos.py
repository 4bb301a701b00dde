"""Killed at any moment, the daemon and the switches come back with exactly what was answered."""

import json
import subprocess
import sys

import pytest

from olafctl.targets import registry
from olaflab.daemon import chaos
from olaftest.daemon import etcd_server, machines


@pytest.mark.parametrize("tree", [pytest.param(False, marks=pytest.mark.slow), True])
def test_after_random_kills_store_devices_and_answers_agree(tree: bool) -> None:
    if missing := registry.get_target("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = chaos.run_chaos(kills=2, cuts=1, changes=20, seed=42, progress=print, tree=tree)
    assert report.disagreements == []
    assert (report.killed, report.cuts) == ({"daemon": 1, "twin": 1}, {"lost": 1})
    assert report.outcomes["done"] + report.outcomes["refused"] >= 20


@pytest.mark.slow
def test_after_kills_and_cuts_of_machines_all_agrees() -> None:
    """In a process of its own, whose gRPC is at the desk from the start."""
    if missing := machines.why_not() or etcd_server.missing_programs():
        pytest.skip(f"needs {missing}")
    line = [sys.executable, "-m", "olaflab", "bench", "control", "--machines", "--chaos", "5", "--cuts", "3"]
    done = subprocess.run([*line, "--changes", "30", "--json"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (sum(report["killed"].values()), sum(report["cuts"].values())) == (5, 3)
    assert report["disagreements"] == []
