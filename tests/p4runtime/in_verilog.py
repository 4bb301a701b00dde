"""The program of these tests as Verilog, as far as the subset permits, behind its registers."""

from pathlib import Path

from olafswitch.p4.compiler import p4info_of
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4runtime.program import ProgramInfo


def in_verilog() -> SimulatedSwitch:
    """Return the program in Verilator, its tables as it declares them."""
    text = preprocess_file(Path(__file__).with_name("program.p4"), (), {"HARDWARE": "1"})
    return SimulatedSwitch.of_text(text, ProgramInfo(p4info_of(text, "program.p4")), quick=True)
