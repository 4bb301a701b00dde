"""``for`` loops."""

from olafctl.p4 import ir
from olafctl.p4 import types as t
from olafctl.p4.check.coercion import coerce
from olafctl.p4.check.expressions import check
from olafctl.p4.check.operators import binary
from olafctl.p4.check.scope import Scope, Value
from olafctl.p4.check.typing import resolve
from olafctl.p4.refuse import Refused
from olafctl.p4.syntax import tree


def check_loop(node: tree.For | tree.ForIn, scope: Scope) -> ir.Statement:
    """A loop; its body knows that it may ``break`` and ``continue``."""
    from olafctl.p4.check.statements import check_statement

    if scope.frame.kind in ("parser", "state"):
        raise Refused(node.pos, "for", "not allowed in parsers")
    inner = scope.inner()
    if isinstance(node, tree.ForIn):
        return _over(node, inner)
    init = ir.Body(tuple(check_statement(statement, inner) for statement in node.init))
    condition = check(node.condition, inner, t.BOOL)
    update = ir.Body(tuple(check_statement(statement, inner) for statement in node.update))
    return ir.Loop(init, condition, update, _body(node.body, inner))


def _body(node: tree.Statement, scope: Scope) -> ir.Statement:
    from olafctl.p4.check.statements import check_statement

    scope.frame.loops += 1
    body = check_statement(node, scope.inner())
    scope.frame.loops -= 1
    return body


def _over(node: tree.ForIn, scope: Scope) -> ir.Statement:
    type_ = resolve(node.type, scope)
    unit = scope.unit
    variable = ir.Local(type_, unit.unique(node.name))
    scope.declare(node.name, Value(variable), node.pos)
    if isinstance(node.collection, tree.Between):
        return _range(node, node.collection, variable, scope)
    collection = check(node.collection, scope)
    base = t.unwrapped(collection.type)
    if isinstance(collection, ir.Make) and isinstance(base, t.ListOf | t.Tuple):
        bodies: list[ir.Statement] = []
        for part in collection.parts:
            once = ir.Body((ir.Declare(variable, coerce(part, type_, node.pos)), _body(node.body, scope)))
            bodies.append(once)
        if _jumps(bodies):
            raise Refused(node.pos, "for in", "break and continue over a list are not supported")
        return ir.Body(tuple(ir.Body((body,)) for body in bodies))
    if not isinstance(base, t.Stack) or base.element != type_:
        raise Refused(node.pos, "for in", f"cannot go over {collection.type}")
    counter = ir.Local(t.Bit(32), unit.unique("at"))
    zero, one = ir.Const(t.Bit(32), 0), ir.Const(t.Bit(32), 1)
    condition = ir.Binary(t.BOOL, "<", counter, ir.Const(t.Bit(32), base.size))
    step = ir.Assign(counter, ir.Binary(t.Bit(32), "+", counter, one))
    take = ir.Declare(variable, ir.Element(type_, collection, counter))
    body = ir.Body((take, _body(node.body, scope)))
    return ir.Loop(ir.Body((ir.Declare(counter, zero),)), condition, ir.Body((step,)), body)


def _jumps(statements: list[ir.Statement]) -> bool:
    for statement in statements:
        match statement:
            case ir.Jump(word="break" | "continue"):
                return True
            case ir.Body(statements=inner):
                if _jumps(list(inner)):
                    return True
            case ir.If(yes=yes, no=no):
                if _jumps([yes, *([no] if no else [])]):
                    return True
            case ir.Switch(cases=cases):
                if _jumps([case.body for case in cases]):
                    return True
    return False


def _range(node: tree.ForIn, bounds: tree.Between, variable: ir.Local, scope: Scope) -> ir.Statement:
    """Low to high, both included; a counter one bit wider than the variable cannot wrap."""
    type_ = variable.type
    base = t.stripped(type_)
    if not isinstance(base, t.Bit):
        raise Refused(node.pos, "for in", f"a range cannot be of {type_}")
    wide = t.Bit(base.width + 1, base.signed)
    low, high = check(bounds.low, scope, type_), check(bounds.high, scope, type_)
    counter, last = (ir.Local(wide, scope.unit.unique(n)) for n in ("at", "last"))
    start = (ir.Declare(counter, ir.Cast(wide, low)), ir.Declare(last, ir.Cast(wide, high)))
    step = ir.Assign(counter, binary("+", counter, ir.Const(wide, 1), node.pos))
    body = ir.Body((ir.Declare(variable, ir.Cast(type_, counter)), _body(node.body, scope)))
    return ir.Loop(ir.Body(start), ir.Binary(t.BOOL, "<=", counter, last), ir.Body((step,)), body)
