"""Write v1model's pipeline as C++ for :file:`olafswitch/p4/native/pipeline.h`."""

from collections.abc import Container, Iterator

from olafswitch.p4.emit import packets
from olafswitch.p4.emit.writer import Types, keeps_origin, type_fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t

ENTRY = [
    'extern "C" void p4_switch_process(p4_switch *sw, uint32_t port, const uint8_t *frame,'
    " size_t length, uint64_t now_ns, p4_emit_fn emit, void *context) {",
    "process_packet<Program>(sw, port, frame, length, now_ns, emit, context);\n}",
]
_READ_BY_RUNTIME = {"f_mcast_grp", "f_egress_spec"}
_CLONES = ("clone", "clone3", "clone_preserving_field_list")


def pipeline(program: ir.Program, types: Types, used: Container[str]) -> list[str]:
    """Return the lines of ``struct Program``; ``used`` are the externs that the program calls."""
    cpp = {name: block.cpp for name, block in program.parts.items()}
    names = {
        key: types.name(type_)
        for key, type_ in (("h", program.headers), ("m", program.metadata), ("s", program.standard))
    }
    has = {
        "clones": any(name in used for name in _CLONES),
        "resubmits": "resubmit" in used or "resubmit_preserving_field_list" in used,
        "recirculates": "recirculate" in used or "recirculate_preserving_field_list" in used,
        "digests": "digest" in used,
    }
    has["repeats"] = has["resubmits"] or has["recirculates"]
    lines = ["struct Program {", f"struct State {{ {names['h']} h; {names['m']} m; {names['s']} s; }};"]
    lines += [f"static const bool {name} = {str(value).lower()};" for name, value in has.items()]
    lines += [
        f"P4_INLINE void parse(Context &x, State &s) {{ {cpp['parser']}(x, s.h, s.m, s.s); }}",
        f"P4_INLINE void verify(Context &x, State &s) {{ {cpp['verify']}{{x, s.h, s.m}}.apply(); }}",
        f"P4_INLINE void ingress(Context &x, State &s) {{ {cpp['ingress']}{{x, s.h, s.m, s.s}}.apply(); }}",
        f"P4_INLINE void egress(Context &x, State &s) {{ {cpp['egress']}{{x, s.h, s.m, s.s}}.apply(); }}",
        "P4_INLINE u32 deparse(Context &x, State &s) {",
        f"{cpp['compute']}{{x, s.h, s.m}}.apply();\nx.exited = false;",
        f"x.out_at = x.pass_from = x.pass_to = 0;\n{cpp['deparser']}{{x, s.h}}.apply();\nx.exited = false;",
        "return append_payload(x);\n}",
        "P4_INLINE void save(const Context &x, State &to, const State &from) {\n(void)x;",
        *_copies(program, types),
        "}",
        "P4_INLINE void keep(u32 list, State &to, const State &from) {",
        "(void)to, (void)from;\nswitch (list) {",
    ]
    for number, places in sorted(_field_lists(program, types).items()):
        copies = " ".join(f"to.{place} = {value};" for place, value in places)
        lines.append(f"case {number}: {copies} break;")
    return [*lines, "}\n}\n};"]


def _copies(program: ir.Program, types: Types) -> Iterator[str]:
    """Yield statements that copy the part of a packet's state that is read after ingress. Fields that no
    statement writes are read from the frame again, so that packets whose state is not copied need not store
    them."""
    kept = {place for places in _field_lists(program, types).values() for place, _ in places}
    read = types.later | _READ_BY_RUNTIME | {name for place in kept for name in place.split(".")}

    def copy(type_: t.Type, place: str) -> Iterator[str]:
        base = t.unwrap_type(type_)
        if place in kept or not isinstance(base, t.Struct) or (t.is_header(base) and not keeps_origin(base)):
            yield f"to.{place} = from.{place};"
            return
        at, loads, zeros = 0, [], []
        for name, inner in type_fields(base):
            if name in read and (not keeps_origin(base) or (types.name(base), name) in types.written):
                yield from copy(inner, f"{place}.{name}")
            elif name in read:
                load = packets.load_value(inner, "p", at, types, program.parts["parser"].pos)
                loads.append(f"to.{place}.{name} = {load};")
                zeros.append(f"to.{place}.{name} = {types.name(inner)}{{}};")
            at += t.max_width(inner)
        if keeps_origin(base):
            yield " ".join(f"to.{place}.{end} = from.{place}.{end};" for end in ("v", "changed", "origin"))
        if loads:
            yield f"if (from.{place}.origin) {{\nconst u8 *p = x.data + from.{place}.origin - 1;"
            yield from [*loads, "} else {", *zeros, "}"]

    for place, type_ in (("h", program.headers), ("m", program.metadata), ("s", program.standard)):
        yield from copy(type_, place)


def _field_lists(program: ir.Program, types: Types) -> dict[int, list[tuple[str, str]]]:
    """Return the metadata's fields under each number of ``@field_list``, with their values in a packet that
    keeps them: headers do not refer to its frame, which may be another frame."""
    lists: dict[int, list[tuple[str, str]]] = {}

    def values(type_: t.Type, place: str) -> Iterator[tuple[str, str]]:
        base = t.unwrap_type(type_)
        if keeps_origin(base):
            types.note_values(base)
            yield f"{place}.origin", "0"
        elif isinstance(base, t.Stack):
            for at in range(base.size):
                yield from values(base.element, f"{place}.e[{at}]")
        elif isinstance(base, t.Struct | t.Tuple):
            for name, inner in type_fields(base):
                yield from values(inner, f"{place}.{name}")

    def visit(type_: t.Type, place: str) -> None:
        base = t.unwrap_type(type_)
        if not isinstance(base, t.Struct):
            return
        for (name, inner), numbers in zip(type_fields(base), base.lists, strict=True):
            for number in numbers:
                whole = f"{place}.{name}"
                lists.setdefault(number, []).extend([(whole, f"from.{whole}"), *values(inner, whole)])
            visit(inner, f"{place}.{name}")

    visit(program.metadata, "m")
    visit(program.standard, "s")
    return lists
