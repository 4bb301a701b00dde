"""A small program for XSA with places for the code that a test is about."""

from olafswitch.p4.compiler import compile_text
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_text

FRAME = """#include <core.p4>
#include <xsa.p4>
header pair_t {{ bit<8> a; bit<8> b; }}
header single_t {{ bit<8> v; }}
struct headers_t {{ pair_t p; single_t t; }}
struct metadata_t {{ bit<4> top; bit<16> x; bit<32> y; bit<64> z; bit<1> flag; }}
{top}
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.p); {state} transition {next}; }}
    state single {{ packet.extract(h.t); transition accept; }}
}}
control MyMatchAction(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    {local}
    apply {{ {body} }}
}}
control MyDeparser(packet_out packet, in headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    apply {{ {emits} }}
}}
XilinxPipeline(MyParser(), MyMatchAction(), MyDeparser()) main;
"""
LINE = {"top": 7, "state": 9, "local": 13, "body": 14, "emits": 17}
"""The line of each part."""


def xsa_text(**parts: str) -> str:
    """Return the program, preprocessed; its file is called ``case.p4``."""
    given = {"top": "", "state": "", "next": "single", "local": "", "body": "",
             "emits": "packet.emit(h.p); packet.emit(h.t);", **parts}  # fmt: skip
    return preprocess_text(FRAME.format(**given), "case.p4")


def xsa_switch(**parts: str) -> NativeSwitch:
    """Return a switch that runs the program."""
    return run_program(xsa_text(**parts))


def run_program(text: str) -> NativeSwitch:
    """Return a switch that runs a preprocessed program for XSA."""
    program = compile_text(text, optimize="-O1")
    switch = NativeSwitch(optimize="-O1", architecture="xsa")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    return switch
