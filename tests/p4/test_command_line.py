"""``olafswitch compile`` and ``olafswitch run``."""

import json
import subprocess
import sys
from pathlib import Path

from google.protobuf import text_format

from olafswitch.p4runtime.protocol import p4info_pb2
from tests.p4.switches import PROGRAMS
from tests.p4.xsa_parts import xsa_text


def _run_olafswitch(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olafswitch", *args], capture_output=True, text=True, check=False
    )


def test_compile_writes_what_it_says(tmp_path: Path) -> None:
    done = _run_olafswitch("compile", str(PROGRAMS / "code.p4"), "-o", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    files = [Path(name) for name in json.loads(done.stdout)["files"]]
    assert {path.name for path in files} == {"p4info.txtpb", "device_config.p4i", "code.cpp", "code.so"}
    assert all(path.stat().st_size > 0 for path in files)
    info = text_format.Parse((tmp_path / "out" / "p4info.txtpb").read_text(), p4info_pb2.P4Info())
    assert info.pkg_info.arch == "v1model"


def test_a_refusal_says_where_and_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "wrong.p4"
    source.write_text('#include "core.p4"\n#ifdef EXTRA\ncontrol c() { apply { x = 1; } }\n#endif\nc() c1;\n')
    done = _run_olafswitch("compile", str(source), "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{source}:5:1: c: not declared" in done.stderr
    done = _run_olafswitch("compile", str(source), "-D", "EXTRA", "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{source}:3:23: x: not declared" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()


def test_a_program_for_xsa_has_no_ports_to_run_between(tmp_path: Path) -> None:
    source = tmp_path / "case.p4"
    source.write_text(xsa_text())
    done = _run_olafswitch(
        "run", str(source), "-p", f"1=unix:{tmp_path / 'port'}", "--listen", f"unix:{tmp_path / 'p4'}"
    )
    assert done.returncode == 2
    assert f"{source}: the program is for xsa" in done.stderr
