"""v1model's pipeline as C++: what :file:`olafswitch/p4/native/pipeline.h` is made for."""

from collections.abc import Container

from olafswitch.p4.emit.writer import Types, type_fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t

ENTRY = [
    'extern "C" void p4_switch_process(p4_switch *sw, uint32_t port, const uint8_t *frame,'
    " size_t length, uint64_t now_ns, p4_emit_fn emit, void *context) {",
    "process_packet<Program>(sw, port, frame, length, now_ns, emit, context);\n}",
]
_CLONES = ("clone", "clone3", "clone_preserving_field_list")


def pipeline(program: ir.Program, types: Types, used: Container[str]) -> list[str]:
    """``struct Program``; ``used`` are the externs that the program calls."""
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
        f"{cpp['compute']}{{x, s.h, s.m}}.apply();\nx.exited = false;\nx.out_at = 0;",
        f"{cpp['deparser']}{{x, s.h}}.apply();\nx.exited = false;",
        "return append_payload(x);\n}",
        "P4_INLINE void keep(u32 list, State &to, const State &from) {",
        "(void)to, (void)from;\nswitch (list) {",
    ]
    for number, places in sorted(_field_lists(program).items()):
        copies = " ".join(f"to.{place} = from.{place};" for place in places)
        lines.append(f"case {number}: {copies} break;")
    return [*lines, "}\n}\n};"]


def _field_lists(program: ir.Program) -> dict[int, list[str]]:
    """The metadata's fields under each number of ``@field_list``."""
    lists: dict[int, list[str]] = {}

    def visit(type_: t.Type, place: str) -> None:
        base = t.unwrap_type(type_)
        if not isinstance(base, t.Struct):
            return
        for (name, inner), numbers in zip(type_fields(base), base.lists, strict=True):
            for number in numbers:
                lists.setdefault(number, []).append(f"{place}.{name}")
            visit(inner, f"{place}.{name}")

    visit(program.metadata, "m")
    visit(program.standard, "s")
    return lists
