"""The solutions of p4lang/tutorials, run by their own Makefiles under Mininet with the stand-ins.

OLAF_TUTORIALS names a checkout. OLAF_MININET_PYTHON is an interpreter with mininet, psutil, scapy, p4runtime,
protobuf of any version, and p4runtime-shell; root's rights, make and ping are needed, too.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT, PYTHON = os.environ.get("OLAF_TUTORIALS", ""), os.environ.get("OLAF_MININET_PYTHON", "")
pytestmark = [
    pytest.mark.skipif(not CHECKOUT, reason="OLAF_TUTORIALS names no checkout of p4lang/tutorials"),
    pytest.mark.skipif(not PYTHON, reason="OLAF_MININET_PYTHON names no interpreter with mininet"),
    pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root's rights"),
    pytest.mark.xdist_group("tutorials"),
]
SECONDS = 300


@dataclass(frozen=True)
class Exercise:
    """Words typed into Mininet, and the text that must then be in ``logs/out.txt``."""

    name: str
    lines: tuple[str, ...]
    expected: str


def _wait_until(text: str, file: str = "out") -> str:
    """Return a line for Mininet that returns once ``text`` is in a log."""
    return f"sh timeout 60 sh -c 'until grep -qs \"{text}\" logs/{file}.txt; do sleep 0.1; done'"


def _send_exercise(name: str, send: str, text: str, expected: str) -> Exercise:
    """Return an exercise in which h1 sends and h2 receives."""
    lines = (
        "h2 python3 -u receive.py > logs/out.txt 2>&1 &",
        _wait_until("sniffing on"),
        f"h1 {send}",
        _wait_until(text),
    )
    return Exercise(name, lines, expected)


def _controlled_exercise(name: str, ready: str, ping: str, expected: str) -> Exercise:
    """Return an exercise whose own controller programs the switches."""
    start = "sh timeout 60 python3 -u mycontroller.py > logs/controller.txt 2>&1 & echo $! > logs/pid"
    lines = (
        start,
        _wait_until(ready, "controller"),
        f"h1 {ping} > logs/out.txt 2>&1",
        "sh kill $(cat logs/pid)",
    )
    return Exercise(name, lines, expected)


PINGALL = ("basic", "firewall", "link_monitor", "multicast", "qos")
CALC = r"h1 printf '6-2\n5&4\nquit\n' | python3 calc.py > logs/out.txt 2>&1"
ROUTE = r"printf '2 3 2 2 1\nq\n' | python3 send.py 10.0.2.2"
BALANCED = (
    "h2 python3 -u receive.py > logs/out.txt 2>&1 &", _wait_until("sniffing on"),
    "h3 python3 -u receive.py > logs/out3.txt 2>&1 &", _wait_until("sniffing on", "out3"),
    'h1 python3 send.py 10.0.0.1 "balanced"', _wait_until("balanced", "out*"),
    "sh cat logs/out3.txt >> logs/out.txt",
)  # fmt: skip
EXERCISES = [
    *(Exercise(name, ("pingall",), r"\*\*\* Results: 0% dropped") for name in PINGALL),
    _send_exercise(
        "basic_tunnel", 'python3 send.py 10.0.3.3 "by_tunnel" --dst_id 2', "by_tunnel", "by_tunnel"
    ),
    Exercise("calc", (CALC,), r"> 6-2\n4\n> 5&4\n4"),
    _send_exercise("ecn", "python3 send.py 10.0.2.2 with_ecn 1", "with_ecn", r"tos +=[^\n]*0x1"),
    _controlled_exercise("flowcache", "SetForwardingPipelineConfig on s3", "ping -c 6 h2", r"[2-6] received"),
    Exercise("load_balance", BALANCED, r"balanced"),
    _send_exercise(
        "mri", "python3 send.py 10.0.2.2 measured 1", "measured", r"swid += 2\n(.*\n)*.*swid += 1\n"
    ),
    _controlled_exercise("p4runtime", "egress tunnel rule on s1", "ping -c 3 h2", r"3 received"),
    _send_exercise("source_routing", ROUTE, "ttl", r"ttl += 59"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Provide an environment with the commands, a python3 with mininet, and a sudo that changes nothing."""
    folder = tmp_path_factory.mktemp("commands")
    subprocess.run([sys.executable, "-m", "olafswitch", "drop-in", str(folder), "--force"], check=True)
    for name, text in (("python3", f'exec {PYTHON} "$@"'), ("sudo", 'exec env "$@"')):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(folder / "python")}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_a_solution_runs(exercise: Exercise, environment: dict[str, str], tmp_path: Path) -> None:
    for name in ("utils", f"exercises/{exercise.name}"):
        shutil.copytree(Path(CHECKOUT) / name, tmp_path / name)
    folder = tmp_path / "exercises" / exercise.name
    for file in (folder / "solution").iterdir():
        known = [path for path in folder.rglob(file.name) if path.parent.name.endswith("-topo")]
        shutil.copy(file, known[0] if known else folder)
    done = subprocess.run(
        ["make", "run"], cwd=folder, env=environment, input="\n".join((*exercise.lines, "exit")) + "\n",
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    out = folder / "logs" / "out.txt"
    heard = out.read_text() if out.exists() else printed
    assert done.returncode == 0 and re.search(exercise.expected, heard), f"{printed}\n{heard}"
