"""``olaflab bench replica``: the weights of all members are the same bits, over whole engines."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from click.testing import CliRunner

from olafctl.network import interfaces
from olaflab.main import olaflab
from olafswitch.errors import BadInput
from tests.targets.conftest import why_not


def run_bench(folder: Path, *options: str) -> dict[str, Any]:
    """Return what a short run with a kill and a late member prints."""
    line = [sys.executable, "-m", "olaflab", "bench", "replica", "--json", "--results", "120"]
    line += ["--values", "600", "--kill", "--late", "--loss", "0.02", *options]
    environment = {**os.environ, "OLAF_STATE": str(folder)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def check_outcome(outcome: dict[str, Any], members: int, staleness: int) -> None:
    assert outcome["equal"] and not outcome["problems"]
    assert {end["version"] for end in outcome["ends"]} == {120}
    assert len({end["sha256"] for end in outcome["ends"]}) == 1
    assert len(outcome["ends"]) == members
    assert len(outcome["histogram"]) == staleness + 1
    assert sum(end["lost"] for end in outcome["ends"]) > 0
    assert sum(end["counters"]["snapshots"] for end in outcome["ends"]) >= members - 1


@pytest.mark.parametrize("levels", [1, 2])
def test_over_the_twin_in_virtual_time(levels: int, tmp_path: Path) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    check_outcome(run_bench(tmp_path, "--virtual", "--members", "5", "--levels", str(levels)), 5, 3)


def test_kernel_sockets_and_a_member_killed_by_the_kernel(tmp_path: Path) -> None:
    if reason := why_not("software") or interfaces.why_not():
        pytest.skip(reason)
    outcome = run_bench(tmp_path, "--members", "4", "--target", "software", "--staleness", "2", "--h", "3")
    check_outcome(outcome, 4, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--members", "4", "--h", "9", "--staleness", "1"], "at most 8 contributions between two results"),
        (["--members", "2", "--kill", "--late"], "2 members are too few"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(options: list[str], message: str) -> None:
    done = CliRunner().invoke(olaflab, ["bench", "replica", "--virtual", *options])
    assert isinstance(done.exception, BadInput)
    assert message in str(done.exception)
