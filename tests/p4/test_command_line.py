"""``olafctl p4 compile``, ``olafctl bench samples`` and ``olafctl bench p4``."""

import json
import subprocess
import sys
from pathlib import Path

from google.protobuf import text_format

from olafctl.p4runtime.protocol import p4info_pb2
from tests.p4.switches import PROGRAMS
from tests.p4.xsa_parts import xsa_text


def _olafctl(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olafctl", *args], capture_output=True, text=True, check=False
    )


def test_compile_writes_what_it_says(tmp_path: Path) -> None:
    done = _olafctl("p4", "compile", str(PROGRAMS / "code.p4"), "-o", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    files = [Path(name) for name in json.loads(done.stdout)["files"]]
    assert {path.name for path in files} == {"p4info.txtpb", "device_config.p4i", "code.cpp", "code.so"}
    assert all(path.stat().st_size > 0 for path in files)
    info = text_format.Parse((tmp_path / "out" / "p4info.txtpb").read_text(), p4info_pb2.P4Info())
    assert info.pkg_info.arch == "v1model"


def test_a_refusal_says_where_and_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "wrong.p4"
    source.write_text('#include "core.p4"\n#ifdef EXTRA\ncontrol c() { apply { x = 1; } }\n#endif\nc() c1;\n')
    done = _olafctl("p4", "compile", str(source), "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{source}:5:1: c: not declared" in done.stderr
    done = _olafctl("p4", "compile", str(source), "-D", "EXTRA", "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{source}:3:23: x: not declared" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()


def test_a_program_for_xsa_has_no_ports_to_run_between(tmp_path: Path) -> None:
    source = tmp_path / "case.p4"
    source.write_text(xsa_text())
    done = _olafctl(
        "p4", "run", str(source), "-p", f"1=unix:{tmp_path / 'port'}", "--listen", f"unix:{tmp_path / 'p4'}"
    )
    assert done.returncode == 2
    assert f"{source}: the program is for xsa" in done.stderr


def test_samples_reports_each_outcome(tmp_path: Path) -> None:
    text = (PROGRAMS / "parser.p4").read_text()
    (tmp_path / "pipe.p4").write_text((PROGRAMS / "pipe.p4").read_text())
    for name, stf in (("good", "packet 0 05\nexpect 0 00 01\n"), ("bad", "packet 0 05\nexpect 0 77\n")):
        (tmp_path / f"{name}.p4").write_text(text)
        (tmp_path / f"{name}.stf").write_text(stf)
    (tmp_path / "broken.p4").write_text(text.replace("m.path = 1;", "m.path = y;"))
    (tmp_path / "broken.stf").write_text("")
    done = _olafctl("bench", "samples", str(tmp_path), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    outcomes = {row["name"]: row["outcome"] for row in report["samples"]}
    assert outcomes == {"good": "pass", "bad": "wrong", "broken": "refused"}
    assert (report["pass"], report["wrong"], report["refused"]) == (1, 1, 1)
    assert _olafctl("bench", "samples", str(tmp_path), "good", "broken").returncode == 0


def test_bench_reports_rates() -> None:
    done = _olafctl("bench", "p4", "--workers", "20", "--bytes", "128", "--seconds", "0.05", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["workers"] == 20 and figures["entries_per_s"] > 0
    assert figures["rates"][0]["packets_per_s"] > 0
