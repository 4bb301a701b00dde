"""Hashes and checksums of rows of every width are those of references that share no code with them."""

import random
import zlib
from collections.abc import Callable
from pathlib import Path

from olafswitch.p4.compiler import compile_text
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 20, 31, 32, 63, 64, 65, 70)
_HEAD = """#include <core.p4>
#include <v1model.p4>
header work_t { bit<8> what; bit<32> result; }
header row_t { %(fields)s }
struct headers_t { work_t work; row_t row; }
struct metadata_t { }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.work); p.extract(h.row); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { %(hashes)s } }
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def _compute_crc16(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


def _compute_csum16(data: bytes) -> int:
    padded = data + bytes(len(data) % 2)
    total = sum(int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


REFERENCES: dict[str, Callable[[bytes], int]] = {
    "crc32": zlib.crc32,
    "crc16": _compute_crc16,
    "csum16": _compute_csum16,
}


def test_hashes_of_rows_of_every_width(tmp_path: Path) -> None:
    cases = [(name, width) for name in REFERENCES for width in WIDTHS]
    hashes = [
        f"if (h.work.what == {at}) hash(h.work.result, HashAlgorithm.{name}, 32w0,"
        f" {{ {', '.join(f'h.row.f{byte}' for byte in range(width))} }}, 64w0x100000000);"
        for at, (name, width) in enumerate(cases)
    ]
    fields = " ".join(f"bit<8> f{byte};" for byte in range(max(WIDTHS)))
    source = tmp_path / "hashes.p4"
    source.write_text(_HEAD % {"fields": fields, "hashes": "\n".join(hashes)})
    program = compile_text(preprocess_file(source), optimize="-O1")
    switch = NativeSwitch(optimize="-O1")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    r = random.Random(7)
    for at, (name, width) in enumerate(cases):
        for row in (bytes(70), b"\xff" * 70, *(r.randbytes(70) for _ in range(20))):
            ((_, frame),) = switch.process(0, bytes([at, 0, 0, 0, 0]) + row, 0)
            assert int.from_bytes(frame[1:5], "big") == REFERENCES[name](row[:width]), (name, width)
    switch.close()
