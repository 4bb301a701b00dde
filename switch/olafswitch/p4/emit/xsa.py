"""Write XSA's pipeline and externs as C++ for :file:`olafswitch/p4/native/xsa.h`."""

from collections.abc import Callable, Container, Mapping

from olafswitch.p4.emit import externs, packets
from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.rows import hash_row
from olafswitch.p4.emit.writer import Types
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused

ENTRY = [
    'extern "C" void p4_switch_process_with_metadata(p4_switch *sw, const uint8_t *frame, size_t length,'
    " uint64_t timestamp, uint8_t *metadata, p4_emit_fn emit, void *context) {",
    "process_with_metadata<Program>(sw, frame, length, timestamp, metadata, emit, context);\n}",
]
_CHECKSUMS = {"CRC32": "crc32", "CRC16": "crc16", "ONES_COMPLEMENT16": "csum16"}
_COMBINED_PACKETS, _COMBINED_BYTES = 29, 35
"""The two parts of the 64 bits of a PACKETS_AND_BYTES counter (UG1308, Counter Externs)."""


def pipeline(program: ir.Program, types: Types, used: Container[str]) -> list[str]:
    """Return the lines of ``struct Program``; metadata is packed first field on top, as on VitisNetP4's
    bus."""
    cpp = {name: block.cpp for name, block in program.parts.items()}
    names = [types.name(type_) for type_ in (program.headers, program.metadata, program.standard)]
    pad = _write_padding(program.metadata)
    stores: list[str] = []
    packets.store_value(program.metadata, "s.m", "p", pad, stores.append)
    load = packets.load_value(program.metadata, "p", pad, types, program.parts["parser"].pos)
    return [
        "struct Program {",
        f"struct State {{ {names[0]} h; {names[1]} m; {names[2]} s; }};",
        f"enum {{ METADATA_BYTES = {user_bytes(program.metadata)} }};",
        f"P4_INLINE void load_metadata(State &s, const u8 *p) {{ (void)p;\ns.m = {load}; }}",
        "P4_INLINE void store_metadata(u8 *p, const State &s) {\n(void)p;",
        *stores,
        "}",
        f"P4_INLINE void parse(Context &x, State &s) {{ {cpp['parser']}(x, s.h, s.m, s.s); }}",
        f"P4_INLINE void act(Context &x, State &s) {{ {cpp['match_action']}{{x, s.h, s.m, s.s}}.apply(); }}",
        f"P4_INLINE void emit(Context &x, State &s) {{ {cpp['deparser']}{{x, s.h, s.m, s.s}}.apply(); }}",
        "};",
    ]


def user_bytes(type_: t.Type) -> int:
    """Return the bytes of a value next to the pipeline: user metadata, or a user extern's input or output."""
    return (t.max_width(type_) + 7) // 8


def _write_padding(type_: t.Type) -> int:
    """Return the number of unused bits in front of such a value."""
    return 8 * user_bytes(type_) - t.max_width(type_)


def _require_fixed_width(type_: t.Type, node: ir.ExternCall) -> None:
    if t.fixed_width(type_) is None:
        raise Refused(node.pos, node.owner, f"{type_} has no fixed width")


class XsaExterns(externs.Externs):
    """The externs of core.p4 and of XSA."""

    def supported(self) -> Mapping[str, Callable[..., str]]:
        return EMISSIONS

    def user_extern_apply(self, node: ir.ExternCall, body: BodyWriter) -> str:
        given, target = node.args
        assert given.value is not None
        _require_fixed_width(given.type, node)
        _require_fixed_width(target.type, node)
        value = body.e.keep(body.e.value(given.value), given.type)
        into, out = body.w.fresh("in"), body.w.fresh("out")
        body.w.line(f"u8 {into}[{user_bytes(given.type)} + 1] = {{}};")
        body.w.line(f"u8 {out}[{user_bytes(target.type)} + 1] = {{}};")
        packets.store_value(given.type, value, into, _write_padding(given.type), body.w.line)
        number = self.places.user_externs.index(node.object)
        body.w.line(f"call_user_extern(x.sw, {number}, {into}, {out});")
        if target.value is not None:
            made = packets.load_value(target.type, out, _write_padding(target.type), body.w.types, node.pos)
            body.assign(body.pin(target.value), made)
        return "0"

    def indexed_count(self, node: ir.ExternCall, body: BodyWriter) -> str:
        array, index, within = self._cell(node, body, 0)
        width = t.max_width(node.object.type.args[0])
        packets_bits, bytes_bits = {
            "PACKETS": (width, 0),
            "BYTES": (0, width),
            "PACKETS_AND_BYTES": (_COMBINED_PACKETS, _COMBINED_BYTES),
        }[node.object.choice("type")]
        limits = ", ".join(f"{(1 << min(bits, 64)) - 1:#x}ull" for bits in (packets_bits, bytes_bits))
        body.w.line(f"if ({within}) count_up_to({array}[{index}], x.ingress_length, {limits});")
        return "0"

    def checksum_apply(self, node: ir.ExternCall, body: BodyWriter) -> str:
        data, target = node.args
        assert data.value is not None
        function = _CHECKSUMS[node.object.choice("hash")]
        value = hash_row(data.value, function, body, node.pos)
        if target.value is not None:
            self._store(node, target.value, value, body)
        return "0"


_CORE = ("packet_in.extract", "packet_in.lookahead", "packet_in.advance", "packet_in.length",
         "packet_out.emit", "verify")  # fmt: skip
EMISSIONS: Mapping[str, Callable[..., str]] = {
    **{name: externs.EMISSIONS[name] for name in _CORE},
    "UserExtern.apply": XsaExterns.user_extern_apply,
    "Counter.count": XsaExterns.indexed_count,
    "Checksum.apply": XsaExterns.checksum_apply,
}
