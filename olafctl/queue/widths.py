"""Constant Verilog expressions: the value of a parameter, the width of a port or of what is wired to it."""

import operator
from collections.abc import Callable, Mapping

from pyverilog.vparser import ast


class NotConstant(Exception):
    """An expression whose value or width cannot be known from constants; the message says what it is."""


_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Plus: operator.add,
    ast.Minus: operator.sub,
    ast.Times: operator.mul,
    ast.Divide: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Power: operator.pow,
    ast.Sll: operator.lshift,
    ast.Srl: operator.rshift,
    ast.And: operator.and_,
    ast.Or: operator.or_,
    ast.Xor: operator.xor,
    ast.LessThan: operator.lt,
    ast.GreaterThan: operator.gt,
    ast.LessEq: operator.le,
    ast.GreaterEq: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Land: lambda a, b: bool(a) and bool(b),
    ast.Lor: lambda a, b: bool(a) or bool(b),
}
_UNARY: dict[type, Callable[[int], int]] = {
    ast.Uplus: operator.pos,
    ast.Uminus: operator.neg,
    ast.Ulnot: operator.not_,
    ast.Unot: operator.invert,
}
_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}


def value(node: ast.Node, parameters: Mapping[str, int]) -> int:
    """An expression's value.

    Raises NotConstant.
    """
    match node:
        case ast.Rvalue():
            return value(node.var, parameters)
        case ast.IntConst():
            return _integer(node.value)[0]
        case ast.Identifier():
            if node.name not in parameters:
                raise NotConstant(f"{node.name} is not a parameter")
            return parameters[node.name]
        case ast.Cond():
            chosen = node.true_value if value(node.cond, parameters) else node.false_value
            return value(chosen, parameters)
        case ast.SystemCall() if node.syscall == "clog2":
            return max(value(node.args[0], parameters) - 1, 0).bit_length()
    if type(node) in _UNARY:
        return int(_UNARY[type(node)](value(node.right, parameters)))
    if type(node) in _BINARY:
        try:
            left, right = value(node.left, parameters), value(node.right, parameters)
            return int(_BINARY[type(node)](left, right))
        except (ZeroDivisionError, ValueError) as error:
            raise NotConstant(str(error)) from None
    raise NotConstant(f"a {type(node).__name__} is not a constant")


def width(node: ast.Width | None, parameters: Mapping[str, int]) -> int:
    """The bits of a declaration ``[msb:lsb]``; 1 without one.

    Raises NotConstant.
    """
    if node is None:
        return 1
    return abs(value(node.msb, parameters) - value(node.lsb, parameters)) + 1


def wired(node: ast.Node, nets: Mapping[str, int], parameters: Mapping[str, int]) -> int:
    """The bits of an expression wired to a port, given the widths of the nets around.

    Raises NotConstant when that is not known, as for a name that is not a net.
    """
    match node:
        case ast.Rvalue():
            return wired(node.var, nets, parameters)
        case ast.Identifier():
            if node.name in nets:
                return nets[node.name]
            raise NotConstant(f"{node.name} is not declared")
        case ast.IntConst():
            size = _integer(node.value)[1]
            if size is None:
                raise NotConstant(f"{node.value} has no size")
            return size
        case ast.Pointer():
            return 1
        case ast.Partselect():
            return abs(value(node.msb, parameters) - value(node.lsb, parameters)) + 1
        case ast.Concat() | ast.LConcat():
            return sum(wired(part, nets, parameters) for part in node.list)
        case ast.Repeat():
            return value(node.times, parameters) * wired(node.value, nets, parameters)
    raise NotConstant(f"the width of a {type(node).__name__} is not known")


def _integer(text: str) -> tuple[int, int | None]:
    """A literal's value, and its size in bits if it states one."""
    plain = text.replace("_", "").lower()
    size, quote, rest = plain.partition("'")
    if not quote:
        return int(plain), None
    rest = rest.removeprefix("s")
    try:
        return int(rest[1:], _BASES[rest[0]]), int(size) if size else None
    except (ValueError, KeyError):
        raise NotConstant(f"{text} has unknown bits") from None
