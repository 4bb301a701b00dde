"""Key sets: what table entries and select cases match."""

from olafctl.p4.check.expressions import constant
from olafctl.p4.check.scope import Scope
from olafctl.p4.ir import nodes as ir
from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Refused
from olafctl.p4.syntax import tree


def items(keys: tree.Expr) -> tuple[tree.Expr, ...]:
    """A key set's parts, one per field."""
    match keys:
        case tree.KeyTuple(items=parts) | tree.ListOf(items=parts):
            return parts
    return (keys,)


def _number(node: tree.Expr, type_: t.Type, scope: Scope) -> int:
    return int(constant(node, scope, "key set", type_).value)


def match(node: tree.Expr, type_: t.Type, scope: Scope) -> ir.Match:
    """One field's match.

    Raises Refused when it is not constant, or the type does not fit.
    """
    match node:
        case tree.Anything():
            return ir.Match(None)
        case tree.Masked(value=value, mask=mask):
            bits = _number(mask, t.stripped(type_), scope)
            return ir.Match(_number(value, t.stripped(type_), scope) & bits, bits)
        case tree.Between(low=low, high=high):
            base = t.stripped(type_)
            if isinstance(base, t.Bit) and base.signed:
                raise Refused(node.pos, "..", "a range of signed numbers is not supported")
            first, last = _number(low, type_, scope), _number(high, type_, scope)
            if first > last:
                raise Refused(node.pos, "..", f"{first} is above {last}")
            return ir.Match(first, high=last)
    return ir.Match(_number(node, type_, scope))
