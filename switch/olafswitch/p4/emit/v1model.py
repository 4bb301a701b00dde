"""Write v1model's pipeline as C++ for :file:`olafswitch/p4/native/pipeline.h`."""

from collections.abc import Container, Iterator

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
        "x.out_at = 0;\nx.pass_from = x.pass_to = nullptr;",
        f"{cpp['deparser']}{{x, s.h}}.apply();\nx.exited = false;",
        "return append_payload(x);\n}",
        "P4_INLINE void save(const Context &x, State &to, const State &from) {\n(void)x;",
        *_copies(program, types),
        "}",
        "P4_INLINE void keep(u32 list, State &to, const State &from) {",
        "(void)to, (void)from;\nswitch (list) {",
    ]
    for number, places in sorted(_field_lists(program).items()):
        copies = " ".join(line for place, type_ in places for line in _keep(place, type_, types))
        lines.append(f"case {number}: {copies} break;")
    return [*lines, "}\n}\n};"]


def _copies(program: ir.Program, types: Types) -> Iterator[str]:
    """Yield statements that copy the part of a packet's state that is read after ingress."""
    kept = {place for places in _field_lists(program).values() for place, _ in places}
    read = types.later | _READ_BY_RUNTIME | {name for place in kept for name in place.split(".")}

    def copy(type_: t.Type, place: str) -> Iterator[str]:
        base = t.unwrap_type(type_)
        if place in kept or not isinstance(base, t.Struct) or (t.is_header(base) and not keeps_origin(base)):
            yield f"to.{place} = from.{place};"
            return
        for name, inner in type_fields(base):
            if name in read and (not keeps_origin(base) or (types.name(base), name) in types.written):
                yield from copy(inner, f"{place}.{name}")
        if keeps_origin(base):
            yield " ".join(f"to.{place}.{end} = from.{place}.{end};" for end in ("v", "changed", "at"))

    for place, type_ in (("h", program.headers), ("m", program.metadata), ("s", program.standard)):
        yield from copy(type_, place)


def _field_lists(program: ir.Program) -> dict[int, list[tuple[str, t.Type]]]:
    """Return the metadata's fields, with their types, under each number of ``@field_list``."""
    lists: dict[int, list[tuple[str, t.Type]]] = {}

    def visit(type_: t.Type, place: str) -> None:
        base = t.unwrap_type(type_)
        if not isinstance(base, t.Struct):
            return
        for (name, inner), numbers in zip(type_fields(base), base.lists, strict=True):
            for number in numbers:
                lists.setdefault(number, []).append((f"{place}.{name}", inner))
            visit(inner, f"{place}.{name}")

    visit(program.metadata, "m")
    visit(program.standard, "s")
    return lists


def _keep(place: str, type_: t.Type, types: Types) -> Iterator[str]:
    """Yield statements that keep a field for another frame, in which its headers are not."""

    def detach(type_: t.Type, place: str) -> Iterator[str]:
        base = t.unwrap_type(type_)
        if keeps_origin(base):
            types.note_values(base)
            yield f"{place}.change(); {place}.at = ZEROS;"
        elif isinstance(base, t.Stack):
            for at in range(base.size):
                yield from detach(base.element, f"{place}.e[{at}]")
        elif isinstance(base, t.Struct | t.Tuple):
            for name, inner in type_fields(base):
                yield from detach(inner, f"{place}.{name}")

    yield f"to.{place} = from.{place};"
    yield from detach(type_, f"to.{place}")
