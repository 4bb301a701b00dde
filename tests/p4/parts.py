"""A small v1model program with places for the code that a test is about."""

from olafswitch.p4.check.program import check_program
from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.program import Emitter
from olafswitch.p4.p4info.describe import Describer
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4runtime.protocol import p4info_pb2

FRAME = """#include <core.p4>
#include <v1model.p4>
header byte_t {{ bit<8> v; }}
header_union either_t {{ byte_t x; byte_t y; }}
struct headers_t {{ byte_t h; byte_t[2] s; either_t u; }}
struct metadata_t {{ bit<8> m; bool flag; }}
{top}
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    state start {{ {state} transition accept; }}
}}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    {local}
    apply {{ {body} }}
}}
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{ apply {{ }} }}
control MyVerify(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control MyCompute(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control MyDeparser(packet_out packet, in headers_t h) {{ apply {{ packet.emit(h); }} }}
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
"""


def parts_text(**parts: str) -> str:
    """Return the program's source with the ``parts`` in their places."""
    return FRAME.format(**{"top": "", "state": "", "local": "", "body": "", **parts})


def compile_parts(**parts: str) -> p4info_pb2.P4Info:
    """Translate the program to C++, which is not compiled, and return its P4Info. Raises Refused."""
    return describe_text(preprocess_text(parts_text(**parts), "case.p4"))


def describe_text(text: str, file: str = "case.p4") -> p4info_pb2.P4Info:
    """Return the P4Info of a preprocessed program, after writing its C++. Raises Refused."""
    program = check_program(parse_program(text), file)
    places = Places(program)
    emitter = Emitter(program, places)
    emitter.write()
    return Describer(program, places, emitter.externs.digests).describe()
