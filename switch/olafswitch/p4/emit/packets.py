"""Headers out of packets and into them."""

from collections.abc import Callable

from olafswitch.p4.emit.bodies import Body
from olafswitch.p4.emit.writer import Types, fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused


def extract(node: ir.ExternCall, body: Body) -> None:
    """``packet.extract(header)`` and ``packet.extract(header, bits)``."""
    target, type_ = node.args[0].value, node.args[0].type
    if not t.is_header(t.stripped(type_)):
        raise Refused(node.pos, "extract", f"{type_} is not a header")
    if any(isinstance(t.stripped(f), t.Stack) for _, f in fields(type_)):
        raise Refused(node.pos, "extract", f"{type_} holds a stack")
    varbit = has_varbit(type_)
    size = None
    if len(node.args) > 1:
        if node.args[1].value is None or not varbit:
            raise Refused(node.pos, "extract", f"{type_} has no field of variable size")
        size = body.e.keep(body.e.value(node.args[1].value), node.args[1].type)
    elif varbit:
        raise Refused(node.pos, "extract", f"{type_} has a varbit field, so its size must be given")
    target = body.pin(target) if target is not None else None
    stacks = [body.e.value(part.base) for part in _nexts(target)]
    union = ""
    if isinstance(target, ir.Field) and t.is_union(t.stripped(target.base.type)):
        union = body.only(body.e.value(target.base), target.base.type, target.name)
    place = body.e.value(target) if target is not None else body.e.keep(f"{body.e.cpp(type_)}{{}}", type_)
    _fill(node, body, place, type_, size)
    body.w.line(" ".join([union, *(f"{stack}.next++;" for stack in stacks)]))


def _nexts(target: ir.Expr | None) -> list[ir.StackPart]:
    """Every ``stack.next`` on the way to an extracted header."""
    found = []
    while isinstance(target, ir.Field | ir.Element | ir.StackPart):
        if isinstance(target, ir.StackPart) and target.part == "next":
            found.append(target)
        target = target.base
    return found


def has_varbit(type_: t.Type) -> bool:
    base = t.stripped(type_)
    return isinstance(base, t.Struct) and any(isinstance(t.stripped(f), t.Varbit) for _, f in base.fields)


def _fill(node: ir.ExternCall, body: Body, place: str, type_: t.Type, size: str | None) -> None:
    fixed = sum(t.max_width(f) for _, f in fields(type_) if not isinstance(t.stripped(f), t.Varbit))
    if fixed % 8:
        raise Refused(node.pos, f"header {type_}", f"is {fixed} bits long, not a number of bytes")
    need = f"{fixed}u" if size is None else f"{fixed}ull + {size}"
    if size is not None:
        longest = next(t.max_width(f) for _, f in fields(type_) if isinstance(t.stripped(f), t.Varbit))
        body.fail_if(f"{size} % 8 != 0", "ParserInvalidArgument")
        body.fail_if(f"{size} > {longest}u", "HeaderTooShort")
    body.fail_if(f"!x.has({need})", "PacketTooShort")
    at: str = "x.at * 8"
    offset = 0
    lines = []
    for field, inner in fields(type_):
        base = t.stripped(inner)
        if isinstance(base, t.Varbit):
            wide = body.e.cpp(t.Bit(max(base.width, 1)))
            lines.append(f"{place}.{field}.value = load_wide<{wide}>(x.data, {at} + {offset}, (u32){size});")
            lines.append(f"{place}.{field}.bits = (u32){size};")
            at = f"{at} + (u32){size}"
            continue
        lines.append(f"{place}.{field} = {load(inner, f'{at} + {offset}', body.w.types, node.pos)};")
        offset += t.max_width(inner)
    body.w.line("\n".join([*lines, f"{place}.v = true;", f"x.at += ({need}) / 8;"]))


def load(type_: t.Type, at: str, types: Types, pos: Pos, source: str = "x.data") -> str:
    """A value of ``type_`` from bit ``at`` of the packet, or of other bytes."""
    base = t.stripped(type_)
    match base:
        case t.Bit(width=width):
            return f"load_wide<{types.name(base)}>({source}, {at}, {width})"
        case t.Simple(name="bool"):
            return f"(load_bits({source}, {at}, 1) != 0)"
        case t.Struct(kind="struct" | "header") | t.Tuple():
            parts, offset = [], 0
            for _, inner in fields(base):
                parts.append(load(inner, f"{at} + {offset}", types, pos, source))
                offset += t.max_width(inner)
            if t.is_header(base):
                parts.append("true")
            return f"{types.name(base)}{{{', '.join(parts)}}}"
    raise Refused(pos, "packet", f"cannot hold a value of type {type_}")


def lookahead(node: ir.ExternCall, body: Body) -> str:
    """``packet.lookahead<T>()``"""
    width = t.fixed_width(node.type)
    if width is None:
        raise Refused(node.pos, "lookahead", f"{node.type} has no fixed width")
    body.fail_if(f"!x.has({width})", "PacketTooShort")
    return body.e.keep(load(node.type, "x.at * 8", body.w.types, node.pos), node.type)


def emit(value: str, type_: t.Type, body: Body, pos: Pos) -> None:
    """``packet.emit(x)``: every valid header in it, in order."""
    base = t.stripped(type_)
    match base:
        case t.Struct(kind="header"):
            _emit_header(value, base, body, pos)
        case t.Struct() | t.Tuple():
            for field, inner in fields(base):
                emit(f"{value}.{field}", inner, body, pos)
        case t.Stack(element=element, size=size):
            for at in range(size):
                emit(f"{value}.e[{at}]", element, body, pos)
        case _:
            raise Refused(pos, "emit", f"{type_} is neither a header nor made of headers")


def _emit_header(value: str, type_: t.Struct, body: Body, pos: Pos) -> None:
    fixed = sum(t.max_width(f) for _, f in fields(type_) if not isinstance(t.stripped(f), t.Varbit))
    if fixed % 8:
        raise Refused(pos, f"header {type_}", f"is {fixed} bits long, not a number of bytes")
    if fixed == 0 and not has_varbit(type_):
        return
    bits = " + ".join(
        [f"{fixed}u", *(f"{value}.{f}.bits" for f, i in fields(type_) if isinstance(t.stripped(i), t.Varbit))]
    )
    out = body.w.fresh("o")
    body.w.line(
        f"if ({value}.v && reserve(x.sw, x.out_at + ({bits} + 7) / 8)) {{\nu8 *{out} = x.sw->out + x.out_at;"
    )
    at = "0u"
    offset = 0
    for field, inner in fields(type_):
        if isinstance(t.stripped(inner), t.Varbit):
            part = f"{value}.{field}"
            body.w.line(f"store_wide({out}, {at} + {offset}, {part}.bits, {part}.value);")
            at = f"{at} + {part}.bits"
            continue
        store(inner, f"{value}.{field}", out, f"{at} + {offset}", body.w.line)
        offset += t.max_width(inner)
    body.w.line(f"x.out_at += ({bits}) / 8;\n}}")


def store(type_: t.Type, value: str, out: str, at: str, line: Callable[[str], None]) -> None:
    """Writes a value to bit ``at`` of the bytes ``out``; ``line`` takes the statements."""
    base = t.stripped(type_)
    if isinstance(base, t.Struct | t.Tuple):
        offset = 0
        for field, inner in fields(base):
            store(inner, f"{value}.{field}", out, f"{at} + {offset}", line)
            offset += t.max_width(inner)
        return
    cast = f"(u64)({value})" if base == t.BOOL else value
    line(f"store_wide({out}, {at}, {t.max_width(base)}, {cast});")
