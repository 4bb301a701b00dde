"""P4 values as nodes: the leaves of a type, and the operators."""

from collections.abc import Iterator

from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.verilog.graph import FACTOR, Graph, Node

Leaves = dict[str, Node]
"""A value: a node for each scalar in it, by the path to it; a scalar's own path is empty."""
VALID, NEXT = ".$", ".#"
"""The leaves of a header's validity, and of the index of a stack's next element."""
SIZE_BITS = 32
MAX_PRODUCT = 128
"""The most bits of a product (36 multipliers), unless a factor is a constant of one multiplier."""
FULL = 1 << FACTOR


def width_of(type_: t.Type) -> int | None:
    """Return the bits of a scalar; None for any other type."""
    base = t.strip_type(type_)
    return 32 if base == t.INTEGER else t.key_width(base)


def items_of(type_: t.Type) -> list[tuple[str, t.Type]] | None:
    """Return the parts of a value by the path to them; None for a scalar."""
    match t.strip_type(type_):
        case t.Struct(fields=fields):
            return [(f".{name}", inner) for name, inner in fields]
        case t.Tuple(items=parts):
            return [(f"[{at}]", inner) for at, inner in enumerate(parts)]
        case t.Stack(element=element, size=size):
            return [(f"[{at}]", element) for at in range(size)]
    return None


def leaves_of(type_: t.Type, pos: Pos) -> Iterator[tuple[str, int]]:
    """Yield the path and bits of every scalar in a type, as declared; raises Refused at a varbit."""
    base, inner = t.strip_type(type_), items_of(type_)
    bits = width_of(base) if inner is None else 0
    if bits is None:
        raise Refused(pos, str(type_), "a value of this type has no fixed place in hardware")
    if inner is None:
        yield "", bits
    elif t.is_header(base):
        yield VALID, 1
    elif isinstance(base, t.Stack):
        yield NEXT, SIZE_BITS
    for way, of in inner or ():
        yield from ((way + rest, bits) for rest, bits in leaves_of(of, pos))


def take_part(value: Leaves, way: str) -> Leaves:
    """Return the leaves below a part of a value."""
    return {name[len(way) :]: node for name, node in value.items() if name.startswith(way)}


def put_under(value: Leaves, way: str) -> Leaves:
    """Return a value's leaves as those of a part of a larger value."""
    return {way + name: node for name, node in value.items()}


class Operators:
    """P4's operators over nodes."""

    def __init__(self, graph: Graph) -> None:
        self.g = graph

    def default_value(self, type_: t.Type, pos: Pos) -> Leaves:
        """Return a type's zero; its headers are invalid."""
        return {way: self.g.const(0, bits) for way, bits in leaves_of(type_, pos)}

    def pick_value(self, choice: Node, a: Leaves, b: Leaves) -> Leaves:
        return {way: self.g.mux(choice, node, b[way]) for way, node in a.items()}

    def is_valid(self, type_: t.Type, value: Leaves) -> Node:
        base = t.strip_type(type_)
        if isinstance(base, t.Struct) and t.is_union(base):
            return self.g.any(*(value[f".{name}{VALID}"] for name, _ in base.fields))
        return value[VALID]

    def are_same(self, type_: t.Type, a: Leaves, b: Leaves) -> Node:
        """Return whether two values are equal; invalid headers are equal, whatever their fields."""
        g, inner = self.g, items_of(type_)
        if inner is None:
            return g.binary("eq", a[""], b[""])
        alike = g.all(*(self.are_same(of, take_part(a, way), take_part(b, way)) for way, of in inner))
        if not t.is_header(t.strip_type(type_)):
            return alike
        return g.all(g.binary("eq", a[VALID], b[VALID]), g.any(g.invert(a[VALID]), alike))

    def unary(self, op: str, a: Node) -> Node:
        if op in ("!", "~"):
            return self.g.invert(a)
        return self.g.subtract(self.g.const(0, a.width), a)

    def cast(self, source: t.Type, target: t.Type, a: Node) -> Node:
        g, bits = self.g, width_of(target) or 0
        if t.strip_type(target) == t.BOOL:
            return g.nonzero(a)
        if isinstance(source, t.Bit) and source.signed and bits > source.width:
            return g.cat([*[g.slice(a, source.width - 1, 1)] * (bits - source.width), a])
        return g.resize(a, bits)

    def binary(self, node: ir.Binary, a: Node, b: Node, pos: Pos) -> Node:
        """Return a binary operator's result. Raises Refused at a division that hardware cannot do."""
        g, base = self.g, t.strip_type(node.left.type)
        signed = isinstance(base, t.Bit) and base.signed
        simple = {"&": "and", "|": "or", "^": "xor"}
        match node.op:
            case op if op in simple:
                return g.binary(simple[op], a, b)
            case "+":
                return g.add(a, b)
            case "-":
                return g.subtract(a, b)
            case "*" if a.width > MAX_PRODUCT and min(a.value or FULL, b.value or FULL) >= FULL:
                why = f"a product of {a.width} bits takes too many multipliers; up to {MAX_PRODUCT} bits fit"
                raise Refused(pos, "*", why)
            case "*":
                return g.multiply(a, b)
            case "++":
                return g.cat([a, b])
            case "<<":
                return g.binary("shl", a, b)
            case ">>":
                return self._signed_right(a, b) if signed else g.binary("shr", a, b)
            case "<" | ">" | "<=" | ">=":
                if signed:
                    a, b = self._bias_sign(a), self._bias_sign(b)
                less = g.less(*((a, b) if node.op in ("<", ">=") else (b, a)))
                return less if node.op in ("<", ">") else g.invert(less)
            case "|+|" | "|-|":
                return self._saturate(node.op == "|+|", signed, a, b)
            case "/" | "%" if b.value is not None and (b.value & b.value - 1) == 0:
                return self._divide_by_power(node.op == "/", a, b.value)
        raise Refused(
            pos, node.op, "its divisor is not a constant power of two, which takes more than a cycle"
        )

    def remainder(self, a: Node, b: Node) -> Node:
        """Return ``a`` modulo ``b``, 0 where ``b`` is 0: a subtraction for each bit unless ``b`` is known."""
        g = self.g
        if b.value is not None and b.value & b.value - 1 == 0:
            return g.resize(a, max(b.value.bit_length() - 1, 0)) if b.value > 1 else g.const(0, 1)
        bits = a.width + 1
        divisor, left = g.resize(b, bits), g.const(0, bits)
        for at in reversed(range(a.width)):
            left = g.cat([g.slice(left, 0, bits - 1), g.slice(a, at, 1)])
            left = g.mux(g.less(left, divisor), left, g.subtract(left, divisor))
        larger = g.nonzero(g.slice(b, a.width, b.width - a.width)) if b.width > a.width else g.no
        inside = g.mux(larger, a, g.resize(left, a.width))
        return g.mux(g.equal(b, 0), g.const(0, a.width), inside)

    def _divide_by_power(self, quotient: bool, a: Node, divisor: int) -> Node:
        if not divisor:
            return self.g.const(0, a.width)
        low = divisor.bit_length() - 1
        if quotient:
            return self.g.binary("shr", a, self.g.const(low, 32))
        return self.g.resize(self.g.resize(a, low), a.width) if low else self.g.const(0, a.width)

    def _bias_sign(self, a: Node) -> Node:
        return self.g.binary("xor", a, self.g.const(1 << a.width - 1, a.width))

    def _signed_right(self, a: Node, by: Node) -> Node:
        g = self.g
        negative = g.invert(g.binary("shr", g.invert(a), by))
        return g.mux(g.slice(a, a.width - 1, 1), negative, g.binary("shr", a, by))

    def _saturate(self, adds: bool, signed: bool, a: Node, b: Node) -> Node:
        g, top = self.g, a.width - 1
        result = g.add(a, b) if adds else g.subtract(a, b)
        if not signed:
            over = g.less(result, a) if adds else g.less(a, b)
            return g.mux(over, g.const(-1 if adds else 0, a.width), result)
        x, y, s = (g.slice(each, top, 1) for each in (a, b, result))
        alike = g.binary("eq", x, y)
        over = g.all(alike if adds else g.invert(alike), g.binary("xor", s, x))
        return g.mux(over, g.mux(x, g.const(1 << top, a.width), g.const((1 << top) - 1, a.width)), result)
