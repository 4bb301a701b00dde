"""A P4 program of the user's in Corundum's application block, where Olaf's box would be."""

import json
from pathlib import Path

from olafctl import paths
from olafctl.targets.opennic.blocks import AXIL
from olafctl.templates import fill
from olafswitch.errors import BadInput, Problem
from olafswitch.p4.compiler import as_text, p4info_of
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4.verilog.compile import compile_module, list_library
from olafswitch.p4.verilog.module import Module

TOP = "olaf_corundum.v"
_NAME = "user_program"
_BOX = "    // The box decodes"
_GIVEN = {"ingress_port": "one_user[24:16]", "packet_length": "{16'd0, one_user[15:0]}", "timestamp": "now"}
_PARTS = ("arbiter.v", "count.v", "cut.v", "declared.v", "intake.v", "map.vh", "measure.v", "slice.v", "tx.v")


def list_program_files(file: Path) -> dict[str, str]:
    """Return the block's Verilog with the v1model program ``file`` in it, its tables and its P4Info.

    Raises OlafError where the program is wrong, outside of what becomes Verilog, or for XSA.
    """
    text = preprocess_file(file)
    made = compile_module(text, str(file), _NAME)
    if "ingress_port" not in made.description["sideband_in"]:
        raise BadInput(Problem("is for XSA, which has no ports; the block needs v1model", str(file)))
    hdl = paths.sources() / "hdl"
    own = [*hdl.glob("corundum/*.v"), hdl / "olaf_layout.vh", *list_library()]
    own += [hdl / "opennic" / f"olaf_box_{part}" for part in _PARTS]
    return {
        **{f"hdl/{path.name}": path.read_text() for path in own},
        f"hdl/{made.name}.v": made.text,
        f"hdl/{TOP}": _write_top(made),
        f"agent/{made.name}.json": json.dumps(made.description) + "\n",
        f"agent/{made.name}.p4info.txtpb": as_text(p4info_of(text, str(file))),
    }


def _write_top(made: Module) -> str:
    """Return the block: the ports and streams of the box' block, then the program."""
    head, found, _ = (paths.sources() / "hdl" / "corundum" / TOP).read_text().partition(_BOX)
    assert found
    axil = [name for name, _, _ in AXIL if name != "wstrb"]
    about = made.description
    sides = {name: about[name] for name in ("sideband_in", "sideband_out")}
    return head + fill("corundum/program_in_block.v.j2", name=made.name, axil=axil, given=_GIVEN, **sides)
