"""``olaflab bench samples`` and ``olaflab bench p4``."""

import json
import subprocess
import sys
from pathlib import Path

from tests.p4.switches import PROGRAMS


def _olaflab(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olaflab", *args], capture_output=True, text=True, check=False
    )


def test_samples_reports_each_outcome(tmp_path: Path) -> None:
    text = (PROGRAMS / "parser.p4").read_text()
    (tmp_path / "pipe.p4").write_text((PROGRAMS / "pipe.p4").read_text())
    for name, stf in (("good", "packet 0 05\nexpect 0 00 01\n"), ("bad", "packet 0 05\nexpect 0 77\n")):
        (tmp_path / f"{name}.p4").write_text(text)
        (tmp_path / f"{name}.stf").write_text(stf)
    (tmp_path / "broken.p4").write_text(text.replace("m.path = 1;", "m.path = y;"))
    (tmp_path / "broken.stf").write_text("")
    done = _olaflab("bench", "samples", str(tmp_path), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    outcomes = {row["name"]: row["outcome"] for row in report["samples"]}
    assert outcomes == {"good": "pass", "bad": "wrong", "broken": "refused"}
    assert (report["pass"], report["wrong"], report["refused"]) == (1, 1, 1)
    assert _olaflab("bench", "samples", str(tmp_path), "good", "broken").returncode == 0


def test_bench_reports_rates() -> None:
    done = _olaflab("bench", "p4", "--workers", "20", "--bytes", "128", "--seconds", "0.05", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["workers"] == 20 and figures["entries_per_s"] > 0
    assert figures["rates"][0]["packets_per_s"] > 0
