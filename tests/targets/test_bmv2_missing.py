"""The programs that the target bmv2 accepts as p4c and BMv2."""

import subprocess
import sys
from pathlib import Path

import pytest

from olafctl.targets.bmv2.target import Bmv2


def test_it_takes_no_stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison of the switch with itself would show nothing."""
    subprocess.run([sys.executable, "-m", "olafswitch", "drop-in", str(tmp_path), "--force"], check=True)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert {"p4c-bm2-ss", "simple_switch_grpc"} <= set(Bmv2().missing())
