"""The rows of bits that hashes, checksums and digests are computed over."""

from collections.abc import Iterator

from olafswitch.p4.emit import packets
from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.writer import read_field, type_fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused

ALGORITHMS = {
    "crc32": "crc32", "crc32_custom": "crc32", "crc16": "crc16", "crc16_custom": "crc16",
    "identity": "identity", "csum16": "csum16", "xor16": "xor16",
}  # fmt: skip


def hash_algorithm(expr: ir.Expr | None, pos: Pos) -> str:
    """Return the C++ function of a HashAlgorithm; a custom CRC is the standard CRC until configured."""
    if isinstance(expr, ir.Const) and isinstance(expr.type, t.Enum):
        if expr.member in ALGORITHMS:
            return ALGORITHMS[expr.member]
        raise Refused(pos, f"HashAlgorithm.{expr.member}", "not supported")
    raise Refused(pos, "hash algorithm", "must be known at compile time")


def row_leaves(expr: ir.Expr, value: str) -> Iterator[tuple[str, t.Type, str]]:
    """Yield the scalars of a value in order: C++ expression, type, and a condition (or nothing).

    As in BMv2, the fields of an invalid header are left out.
    """
    if isinstance(expr, ir.Make) and not isinstance(t.strip_type(expr.type), t.Stack):
        raise AssertionError("the caller splits made values into their parts")
    guard = (
        f"{value.rsplit('.', 1)[0]}.v" if isinstance(expr, ir.Field) and t.is_header(expr.base.type) else ""
    )
    yield from type_leaves(t.strip_type(expr.type), value, guard)


def type_leaves(type_: t.Type, value: str, guard: str) -> Iterator[tuple[str, t.Type, str]]:
    match type_:
        case t.Struct(kind="header_union"):
            for field, inner in type_fields(type_):
                yield from type_leaves(t.strip_type(inner), f"{value}.{field}", guard)
        case t.Struct() | t.Tuple():
            inside = f"{value}.v" if t.is_header(type_) else guard
            for field, inner in type_fields(type_):
                yield from type_leaves(t.strip_type(inner), read_field(type_, value, field), inside)
        case t.Stack(element=element, size=size):
            for at in range(size):
                yield from type_leaves(t.strip_type(element), f"{value}.e[{at}]", guard)
        case _:
            yield value, type_, guard


def _row_parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    if isinstance(expr, ir.Make):
        for part in expr.parts:
            yield from _row_parts(part)
    else:
        yield expr


def row_width(type_: t.Type) -> int:
    """Return the bits of a scalar in a row; an error and an untyped enumeration have 32, as in BMv2."""
    if isinstance(type_, t.Bit):
        return type_.width
    return 1 if type_ == t.BOOL else 32


def hash_row(expr: ir.Expr, function: str, body: BodyWriter, pos: Pos, behind: str = "") -> str:
    """Write ``function`` of a value's bits, and of the bytes ``behind``, and return its result's name."""
    parts = list(_row_parts(expr))
    for part in parts:
        if part.type == t.INTEGER:
            raise Refused(pos, "hash", "a number in its data has no width")
    room = sum(
        row_width(leaf) if not isinstance(leaf, t.Varbit) else leaf.width
        for part in parts
        for _, leaf, _ in row_leaves(part, "")
    )
    name, result = body.w.fresh("row"), body.w.fresh("hash")
    hashed = f"{result} = {function}({name}.bytes, {name}.length(){behind});"
    values = body.e.row(parts)
    found = [
        (f"(u64)({leaf})" if type_ == t.BOOL else leaf, type_, guard)
        for part, value in zip(parts, values, strict=True)
        for leaf, type_, guard in row_leaves(part, value)
    ]
    body.w.line(f"u8 {name}b[{room // 8 + 24}];\nBitRow {name}{{{name}b, 0}};\nu64 {result};")
    whole = room % 8 == 0 and not any(isinstance(type_, t.Varbit) for _, type_, _ in found)
    if whole:
        # As a rule, all headers are valid: then each field has a fixed place.
        guards = dict.fromkeys(guard for _, _, guard in found if guard)
        body.w.line(f"if ({' && '.join(guards) or 'true'}) {{")
        packed = [(leaf, row_width(type_)) for leaf, type_, _ in found]
        packets.store_scalars(packed, f"{name}b", 0, body.w.line)
        size = room // 8
        of_bytes = f"{function}({name}b, {size}{behind})" if behind else f"{function}<{size}>({name}b)"
        body.w.line(f"{result} = {of_bytes};\n}} else {{")
    for leaf, type_, guard in found:
        if isinstance(type_, t.Varbit):
            put = f"{name}.put({leaf}.value, {leaf}.bits);"
        else:
            put = f"{name}.{'append' if whole else 'put'}({leaf}, {row_width(type_)});"
        body.w.line(f"if ({guard}) {put}" if guard else put)
    body.w.line(hashed)
    if whole:
        body.w.line("}")
    return result


def digest_words(expr: ir.Expr, body: BodyWriter, pos: Pos) -> int:
    """Write a digest's scalars to the context and return the number of words that they take."""
    parts = list(_row_parts(expr))
    values = body.e.row(parts)
    at = 0
    for part, value in zip(parts, values, strict=True):
        for leaf, type_, _ in row_leaves(part, value):
            if isinstance(type_, t.Varbit) or part.type == t.INTEGER:
                raise Refused(pos, "digest", f"{part.type} is not supported in it")
            for word in body.e.words(leaf, type_):
                body.w.line(f"x.sw->digest_data[{at}] = {word};")
                at += 1
    return at
