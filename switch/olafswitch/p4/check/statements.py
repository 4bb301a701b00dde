"""Check statements, with declarations of variables and constants."""

from collections.abc import Callable

from olafswitch.p4.check.calls import check_call
from olafswitch.p4.check.coercion import coerce_to
from olafswitch.p4.check.expressions import check_expression, check_initial, check_writable
from olafswitch.p4.check.operators import make_binary
from olafswitch.p4.check.scope import Scope, Value
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects, jumps_out, pin_indices
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import tree


def check_block(node: tree.BlockStatement, scope: Scope) -> ir.Body:
    """Return a block's statements, checked in their own scope."""
    inner = scope.inner()
    made = tuple(check_statement(statement, inner) for statement in node.statements)
    return ir.Body(made, tuple(statement.pos for statement in node.statements))


def check_statement(node: tree.Statement, scope: Scope) -> ir.Statement:
    """Return one statement, checked.

    Raises Refused where a type, a name or the place does not fit.
    """
    match node:
        case tree.BlockStatement():
            return check_block(node, scope)
        case tree.Assign():
            return _check_assignment(node, scope)
        case tree.Do():
            return _check_do(node, scope)
        case tree.If():
            condition = check_expression(node.condition, scope, t.BOOL)
            yes = check_statement(node.yes, scope.inner())
            return ir.If(condition, yes, check_statement(node.no, scope.inner()) if node.no else None)
        case tree.Switch():
            return _check_switch(node, scope)
        case tree.Jump():
            return _check_jump(node, scope)
        case tree.Return():
            return _check_return(node, scope)
        case tree.Empty():
            return ir.Body(())
        case tree.For() | tree.ForIn():
            return _check_loop(node, scope)
        case tree.Variable():
            return declare_variable(node, scope)
        case tree.Constant():
            declare_constant(node, scope)
            return ir.Body(())
        case tree.Instance():
            raise Refused(node.pos, f"instance {node.name}", "can be declared outside of statements only")
        case _:
            raise AssertionError(node)


def declare_variable(node: tree.Variable, scope: Scope) -> ir.Declare:
    """Declare a variable."""
    type_ = resolve_type(node.type, scope)
    base = t.unwrap_type(type_)
    if isinstance(base, t.Extern | t.BlockType) or base in (t.VOID, t.INTEGER, t.STRING, t.MATCH_KIND):
        raise Refused(node.pos, f"variable {node.name}", f"cannot be of type {type_}")
    value = check_initial(node.value, scope, type_) if node.value is not None else None
    local = ir.Local(type_, scope.unit.unique(node.name))
    scope.declare(node.name, Value(local), node.pos)
    return ir.Declare(local, value)


def declare_constant(node: tree.Constant, scope: Scope) -> None:
    """Declare a constant; raises Refused when its value is not known at compile time."""
    value = check_initial(node.value, scope, resolve_type(node.type, scope))
    if not is_constant(value):
        raise Refused(node.pos, f"const {node.name}", "its value is not known at compile time")
    base = node.value.base if isinstance(node.value, tree.Number) else 10
    scope.declare(node.name, Value(value, False, "is a constant", base), node.pos)


def is_constant(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Make):
        return all(map(is_constant, expr.parts))
    return isinstance(expr, ir.Const | ir.Default)


def _check_assignment(node: tree.Assign, scope: Scope) -> ir.Statement:
    target = check_writable(node.target, scope)
    if node.op:
        before: list[ir.Statement] = []

        def once(index: ir.Expr) -> ir.Expr:
            local = ir.Local(index.type, scope.unit.unique("at"))
            before.append(ir.Declare(local, index))
            return local

        target = pin_indices(target, once)
        made = make_binary(node.op, target, check_expression(node.value, scope), node.pos)
        return ir.Body((*before, ir.Assign(target, coerce_to(made, target.type, node.pos))))
    return ir.Assign(target, check_initial(node.value, scope, target.type))


def _check_do(node: tree.Do, scope: Scope) -> ir.Statement:
    made = check_call(node.call, scope)
    if not has_effects(made):
        return ir.Body(())
    return ir.Do(made)


def _check_jump(node: tree.Jump, scope: Scope) -> ir.Statement:
    frame = scope.frame
    if node.word == "exit":
        if frame.kind in ("parser", "state"):
            raise Refused(node.pos, "exit", "not allowed in parsers")
        if frame.kind == "function":
            raise Refused(node.pos, "exit", "not allowed in functions")
        frame.exits = True
    elif not frame.loops:
        raise Refused(node.pos, node.word, "not inside of a loop")
    return ir.Jump(node.word)


def _check_return(node: tree.Return, scope: Scope) -> ir.Statement:
    if scope.frame.kind in ("parser", "state"):
        raise Refused(node.pos, "return", "not allowed in parsers")
    if node.value is None:
        if scope.frame.result != t.VOID:
            raise Refused(node.pos, "return", f"a value of type {scope.frame.result} is needed")
        return ir.Return(None)
    if scope.frame.result == t.VOID:
        raise Refused(node.pos, "return", "no value can be returned here")
    return ir.Return(check_expression(node.value, scope, scope.frame.result))


def _check_switch(node: tree.Switch, scope: Scope) -> ir.Statement:
    if scope.frame.kind in ("parser", "state"):
        raise Refused(node.pos, "switch", "not allowed in parsers")
    subject = check_expression(node.subject, scope)
    if isinstance(subject, ir.TableApply) and subject.part == "action_run":
        label = _action_label(subject.table)
    else:
        if subject.type == t.INTEGER or t.is_exact(subject.type) or not _is_comparable(subject.type):
            raise Refused(node.pos, "switch", f"cannot be over {subject.type}")
        label = _value_label(subject.type, scope)
    cases: list[ir.Case] = []
    waiting: list[int] = []
    seen: set[int] = set()
    default_waits = has_default = False
    for case in node.cases:
        if has_default and not default_waits:
            raise Refused(case.pos, "switch", "default must be the last label")
        if case.label is None:
            default_waits = has_default = True
        else:
            value = label(case.label)
            if value in seen:
                raise Refused(case.pos, "switch", "this label appears twice")
            seen.add(value)
            waiting.append(value)
        if case.body is not None:
            labels = None if default_waits else tuple(waiting)
            cases.append(ir.Case(labels, check_block(case.body, scope)))
            waiting, default_waits = [], False
    return ir.Switch(subject, tuple(cases))


def _is_comparable(type_: t.Type) -> bool:
    base = t.strip_type(type_)
    return (
        isinstance(base, t.Enum)
        or base in (t.BOOL, t.ERROR)
        or (isinstance(base, t.Bit) and base.width <= 64)
    )


def _action_label(table: ir.Table) -> Callable[[tree.Expr], int]:
    def value(label: tree.Expr) -> int:
        if isinstance(label, tree.Name):
            for at, entry in enumerate(table.actions):
                if label.name in (entry.source, entry.action.name):
                    return at
        raise Refused(label.pos, "switch", f"{table.name} has no such action")

    return value


def _value_label(type_: t.Type, scope: Scope) -> Callable[[tree.Expr], int]:
    def value(label: tree.Expr) -> int:
        expr = check_expression(label, scope, type_)
        if not isinstance(expr, ir.Const) or isinstance(expr.value, str):
            raise Refused(label.pos, "switch", "a label must be known at compile time")
        return int(expr.value)

    return value


# --- loops -------------------------------------------------------------------------------------------


def _check_loop(node: tree.For | tree.ForIn, scope: Scope) -> ir.Statement:
    """Return a loop, whose body may ``break`` and ``continue``."""
    if scope.frame.kind in ("parser", "state"):
        raise Refused(node.pos, "for", "not allowed in parsers")
    inner = scope.inner()
    if isinstance(node, tree.ForIn):
        return _for_in(node, inner)
    init = ir.Body(tuple(check_statement(statement, inner) for statement in node.init))
    condition = check_expression(node.condition, inner, t.BOOL)
    update = ir.Body(tuple(check_statement(statement, inner) for statement in node.update))
    return ir.Loop(init, condition, update, _loop_body(node.body, inner))


def _loop_body(node: tree.Statement, scope: Scope) -> ir.Statement:
    scope.frame.loops += 1
    body = check_statement(node, scope.inner())
    scope.frame.loops -= 1
    return body


def _for_in(node: tree.ForIn, scope: Scope) -> ir.Statement:
    type_ = resolve_type(node.type, scope)
    unit = scope.unit
    variable = ir.Local(type_, unit.unique(node.name))
    scope.declare(node.name, Value(variable), node.pos)
    if isinstance(node.collection, tree.Between):
        return _for_in_range(node, node.collection, variable, scope)
    collection = check_expression(node.collection, scope)
    base = t.unwrap_type(collection.type)
    if isinstance(collection, ir.Make) and isinstance(base, t.ListOf | t.Tuple):
        parts = [coerce_to(part, type_, node.pos) for part in collection.parts]
        first: list[ir.Statement] = []
        if has_effects(collection):
            items = [ir.Local(type_, unit.unique("item")) for _ in parts]
            first = [ir.Declare(item, part) for item, part in zip(items, parts, strict=True)]
            parts = list(items)
        bodies = [ir.Body((ir.Declare(variable, part), _loop_body(node.body, scope))) for part in parts]
        if any(map(jumps_out, bodies)):
            raise Refused(node.pos, "for in", "break and continue over a list are not supported")
        return ir.Body((*first, *bodies))
    if not isinstance(base, t.Stack) or base.element != type_:
        raise Refused(node.pos, "for in", f"cannot go over {collection.type}")
    counter = ir.Local(t.Bit(32), unit.unique("at"))
    zero, one = ir.Const(t.Bit(32), 0), ir.Const(t.Bit(32), 1)
    condition = ir.Binary(t.BOOL, "<", counter, ir.Const(t.Bit(32), base.size))
    step = ir.Assign(counter, ir.Binary(t.Bit(32), "+", counter, one))
    take = ir.Declare(variable, ir.Element(type_, collection, counter))
    body = ir.Body((take, _loop_body(node.body, scope)))
    return ir.Loop(ir.Body((ir.Declare(counter, zero),)), condition, ir.Body((step,)), body)


def _for_in_range(node: tree.ForIn, bounds: tree.Between, variable: ir.Local, scope: Scope) -> ir.Statement:
    """Return a loop from low to high, both included; a counter 1 bit wider than the variable cannot wrap."""
    type_ = variable.type
    base = t.strip_type(type_)
    if not isinstance(base, t.Bit):
        raise Refused(node.pos, "for in", f"a range cannot be of {type_}")
    wide = t.Bit(base.width + 1, base.signed)
    low, high = check_expression(bounds.low, scope, type_), check_expression(bounds.high, scope, type_)
    counter, last = (ir.Local(wide, scope.unit.unique(n)) for n in ("at", "last"))
    start = (ir.Declare(counter, ir.Cast(wide, low)), ir.Declare(last, ir.Cast(wide, high)))
    step = ir.Assign(counter, make_binary("+", counter, ir.Const(wide, 1), node.pos))
    body = ir.Body((ir.Declare(variable, ir.Cast(type_, counter)), _loop_body(node.body, scope)))
    return ir.Loop(ir.Body(start), ir.Binary(t.BOOL, "<=", counter, last), ir.Body((step,)), body)
