"""Runs ABC on a circuit: Debian's, or the one inside YoWASP's Yosys, which pip installs.

YoWASP's ABC is reached through Yosys' mapping pass: it is given a circuit of one gate, a script that proves
something about another circuit first, and the one gate back at the end. What ABC prints is lost there, so
what it finds is read from the status that it writes.
"""

import re
import shutil
import subprocess
from pathlib import Path

from olafswitch.errors import MissingTool, OlafError, Problem
from olafswitch.simulation.mapping import find_yowasp

_PREPARE = ("read_aiger circuit.aig", "fold", "scleanup", "orpos")
_ONE_GATE = "module one_gate(input a, b, output y); assign y = a ^ b; endmodule\n"
_STATUS = re.compile(r"snl_(UNSAT|SAT|UNK) (-?\d+)")


def find_abc() -> str:
    """Find the program that ABC is in. Raises MissingTool when there is none."""
    found = _is_installed() or find_yowasp()
    if found is None:
        raise MissingTool(
            Problem("ABC is missing", remedy="pip install './lab[synth]', or install Debian's berkeley-abc")
        )
    return found


def prove_circuit(work: Path, method: str) -> tuple[str, int]:
    """Prove ``circuit.aig`` by ``method``; the verdict is UNSAT (no check can fail), SAT (one does) or UNK.

    With it the last cycle looked at: of SAT the one in which a check fails. Raises MissingTool without ABC,
    OlafError when it gives none.
    """
    installed = _is_installed()
    status = work / "status.txt"
    status.unlink(missing_ok=True)
    steps = [*_PREPARE, method, "write_status status.txt"]
    if installed is not None:
        (work / "prove.abc").write_text("\n".join((*steps, "")))
        command = [installed, "-q", "source prove.abc"]
    else:
        steps = ["write_blif one_gate.blif", *steps, "read_blif one_gate.blif"]
        (work / "prove.abc").write_text("\n".join((*steps, "")))
        (work / "one_gate.v").write_text(_ONE_GATE)
        (work / "prove.ys").write_text(
            "read_verilog one_gate.v\nsynth -noabc -top one_gate\nabc -script prove.abc\n"
        )
        command = [find_abc(), "-q", "prove.ys"]
    result = subprocess.run(["nice", "-n", "5", *command], cwd=work, capture_output=True, text=True)
    found = _STATUS.match(status.read_text()) if status.is_file() else None
    if found is None:
        message = "\n".join((result.stdout + result.stderr).strip().splitlines()[-5:])
        ended = f"ABC exited with {result.returncode} and no result"
        raise OlafError(Problem(f"{ended}: {message}" if message else ended, where=method))
    return found[1], int(found[2])


def _is_installed() -> str | None:
    return shutil.which("berkeley-abc") or shutil.which("abc") or shutil.which("yosys-abc")
