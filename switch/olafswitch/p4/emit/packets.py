"""Extract headers from packets and emit them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.writer import Types, is_loadable, keeps_origin, read_field, type_fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused


def emit_extract(node: ir.ExternCall, body: BodyWriter) -> None:
    """Write ``packet.extract(header)`` or ``packet.extract(header, bits)``."""
    target, type_ = node.args[0].value, node.args[0].type
    if not t.is_header(t.strip_type(type_)):
        raise Refused(node.pos, "extract", f"{type_} is not a header")
    if any(isinstance(t.strip_type(f), t.Stack) for _, f in type_fields(type_)):
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
    stacks = [body.e.value(part.base) for part in _next_parts(target)]
    union = ""
    if isinstance(target, ir.Field) and t.is_union(t.strip_type(target.base.type)):
        union = body.only(body.e.value(target.base), target.base.type, target.name)
    place = body.e.value(target) if target is not None else body.e.keep(f"{body.e.cpp(type_)}{{}}", type_)
    _fill_header(node, body, place, type_, size)
    body.w.line(" ".join([union, *(f"{stack}.next++;" for stack in stacks)]))


def _next_parts(target: ir.Expr | None) -> list[ir.StackPart]:
    """Return every ``stack.next`` on the way to an extracted header."""
    found = []
    while isinstance(target, ir.Field | ir.Element | ir.StackPart):
        if isinstance(target, ir.StackPart) and target.part == "next":
            found.append(target)
        target = target.base
    return found


def has_varbit(type_: t.Type) -> bool:
    base = t.strip_type(type_)
    return isinstance(base, t.Struct) and any(isinstance(t.strip_type(f), t.Varbit) for _, f in base.fields)


def _fill_header(node: ir.ExternCall, body: BodyWriter, place: str, type_: t.Type, size: str | None) -> None:
    fixed = sum(t.max_width(f) for _, f in type_fields(type_) if not isinstance(t.strip_type(f), t.Varbit))
    if fixed % 8:
        raise Refused(node.pos, f"header {type_}", f"is {fixed} bits long, not a number of bytes")
    if size is None:
        need = f"{fixed // 8}"
        body.fail_if(f"!x.has_bytes({need})", "PacketTooShort")
    else:
        need = f"({fixed}ull + {size}) / 8"
        body.fail_if(f"{size} % 8 != 0", "ParserInvalidArgument")
        body.fail_if(f"!x.has({fixed}ull + {size})", "PacketTooShort")
        longest = next(t.max_width(f) for _, f in type_fields(type_) if isinstance(t.strip_type(f), t.Varbit))
        body.fail_if(f"{size} > {longest}u", "HeaderTooShort")
    source = body.w.fresh("p")
    body.w.line(f"const u8 *{source} = x.at;\n(void){source};")
    lines = []
    if keeps_origin(type_):
        lines.append(f"{place}.at = {source};\n{place}.changed = false;")
    else:
        at, offset = source, 0
        for field, inner in type_fields(type_):
            base = t.strip_type(inner)
            if isinstance(base, t.Varbit):
                wide = body.e.cpp(t.Bit(max(base.width, 1)))
                lines.append(f"{place}.{field}.value = load_wide<{wide}>({source}, {offset}, (u32){size});")
                lines.append(f"{place}.{field}.bits = (u32){size};")
                at = f"{source} + {size} / 8"
                continue
            lines.append(f"{place}.{field} = {load_value(inner, at, offset, body.w.types, node.pos)};")
            offset += t.max_width(inner)
    body.w.line("\n".join([*lines, f"{place}.v = true;", f"x.at += {need};"]))


def load_value(type_: t.Type, source: str, at: int, types: Types, pos: Pos) -> str:
    """Return the C++ value of ``type_`` from bit ``at`` of the bytes ``source``. Raises Refused where it has
    no fixed place in them."""
    if not is_loadable(type_):
        raise Refused(pos, "packet", f"cannot hold a value of type {type_}")
    return types.load(type_, source, at)


def emit_lookahead(node: ir.ExternCall, body: BodyWriter) -> str:
    """Write ``packet.lookahead<T>()`` and return its result."""
    width = t.fixed_width(node.type)
    if width is None:
        raise Refused(node.pos, "lookahead", f"{node.type} has no fixed width")
    body.fail_if(f"!x.has({width})", "PacketTooShort")
    return body.e.keep(load_value(node.type, "x.at", 0, body.w.types, node.pos), node.type)


def emit_value(value: str, type_: t.Type, body: BodyWriter, pos: Pos) -> None:
    """Write ``packet.emit(x)``: every valid header in ``x``, in order."""
    base = t.strip_type(type_)
    match base:
        case t.Struct(kind="header"):
            _emit_header(value, base, body, pos)
        case t.Struct() | t.Tuple():
            for field, inner in type_fields(base):
                emit_value(f"{value}.{field}", inner, body, pos)
        case t.Stack(element=element, size=size):
            for at in range(size):
                emit_value(f"{value}.e[{at}]", element, body, pos)
        case _:
            raise Refused(pos, "emit", f"{type_} is neither a header nor made of headers")


def _emit_header(value: str, type_: t.Struct, body: BodyWriter, pos: Pos) -> None:
    fixed = sum(t.max_width(f) for _, f in type_fields(type_) if not isinstance(t.strip_type(f), t.Varbit))
    if fixed % 8:
        raise Refused(pos, f"header {type_}", f"is {fixed} bits long, not a number of bytes")
    varbits = [f for f, inner in type_fields(type_) if isinstance(t.strip_type(inner), t.Varbit)]
    if fixed == 0 and not varbits:
        return
    out, line = body.w.fresh("o"), body.w.line
    line(f"if ({value}.v) {{")
    if not varbits:
        line(f"if (!{value}.changed) x.pass({value}.at, {fixed // 8});\nelse")
    bits = " + ".join([f"{fixed}u", *(f"{value}.{field}.bits" for field in varbits)])
    line(f"if (u8 *{out} = x.room(({bits} + 7) / 8)) {{")
    if varbits:
        at, offset = "0u", 0
        for field, inner in type_fields(type_):
            part = f"{value}.{field}"
            if field in varbits:
                line(f"store_wide({out}, {at} + {offset}, {part}.bits, {part}.value);")
                at = f"{at} + {part}.bits"
                continue
            for leaf, width in _list_scalars(inner, part):
                line(f"store_wide({out}, {at} + {offset}, {width}, {leaf});")
                offset += width
    else:
        _store_written(type_, value, out, body, pos)
    line(f"x.out_at += ({bits}) / 8;\n}}\n}}")


def _store_written(type_: t.Struct, value: str, out: str, body: BodyWriter, pos: Pos) -> None:
    """Write a header: over its bytes as they came in, or zeros, the fields that some statement writes, with
    those that share a byte with them."""
    types, at, start = body.w.types, 0, 0
    pieces: list[tuple[int, bool, list[tuple[str, int]]]] = []
    scalars: list[tuple[str, int]] = []
    written, whole = False, True
    for field, inner in type_fields(type_):
        changes = (types.name(type_), field) in types.written
        shown = f"{value}.{field}" if changes else load_value(inner, out, at, types, pos)
        scalars += _list_scalars(inner, shown)
        written |= changes
        whole &= changes
        at += t.max_width(inner)
        if at % 8 == 0:
            pieces.append((start // 8, written, scalars))
            start, written, scalars = at, False, []
    if not whole:
        body.w.line(f"memcpy({out}, {value}.at, {at // 8});")
    for changes, run in groupby(pieces, key=lambda piece: piece[1]):
        parts = list(run)
        if changes:
            numbers = [scalar for _, _, scalars in parts for scalar in scalars]
            store_scalars(numbers, f"{out} + {parts[0][0]}", 0, body.w.line)


def _list_scalars(type_: t.Type, value: str) -> Iterator[tuple[str, int]]:
    """Yield the scalars of a value in order: a C++ expression and the width of each."""
    base = t.strip_type(type_)
    if isinstance(base, t.Struct | t.Tuple):
        for field, inner in type_fields(base):
            yield from _list_scalars(inner, read_field(base, value, field))
    else:
        yield (f"(u64)({value})" if base == t.BOOL else value), t.max_width(base)


def store_value(type_: t.Type, value: str, out: str, padding: int, line: Callable[[str], None]) -> None:
    """Write a value behind ``padding`` zero bits to the bytes ``out``; ``line`` takes the statements."""
    store_scalars(_list_scalars(type_, value), out, padding, line)


def store_scalars(
    scalars: Iterable[tuple[str, int]], out: str, padding: int, line: Callable[[str], None]
) -> None:
    """Write numbers, each a C++ expression with its width, as bytes: 64 bits a statement.

    Padding and numbers together are a number of bytes.
    """
    pieces = [("0ull", padding)]
    for scalar, width in scalars:
        for limb in reversed(range((width + 63) // 64)):
            pieces.append((f"limb<{limb}>({scalar})", min(64, width - 64 * limb)))
    left = sum(width for _, width in pieces)
    at, room, word = 0, min(64, left), list[str]()
    for piece, width in pieces:
        while width:
            taken = min(width, room)
            width -= taken
            room -= taken
            part = f"{piece} >> {width}" if width else piece
            word.append(f"({part}) << {room}" if room else f"({part})")
            piece = f"cut<{width}>({piece})"
            if room == 0:
                size = min(64, left)
                line(f"put_bytes<{size // 8}>({out} + {at}, {' | '.join(word)});")
                at, left, word = at + size // 8, left - size, []
                room = min(64, left)
