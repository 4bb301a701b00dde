"""A parser's states, transitions and value sets."""

from olafswitch.p4.check.entries import check_match, key_items
from olafswitch.p4.check.expressions import check_expression, constant_int
from olafswitch.p4.check.scope import Scope
from olafswitch.p4.check.statements import check_statement
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import control_plane_name

_ENDS = ("accept", "reject")


def make_states(declaration: tree.Parser, scope: Scope) -> list[ir.State]:
    """Return the states, ``start`` first.

    Raises Refused where a transition's target does not exist or a select's case does not fit.
    """
    names = [state.name for state in declaration.states]
    for state in declaration.states:
        if names.count(state.name) > 1 or state.name in _ENDS:
            raise Refused(state.pos, f"state {state.name}", "declared twice, or built in")
    if "start" not in names:
        raise Refused(declaration.pos, f"parser {declaration.name}", "has no state start")
    made = []
    for state in sorted(declaration.states, key=lambda s: s.name != "start"):
        inner = scope.inner()
        body = ir.Body(tuple(check_statement(statement, inner) for statement in state.statements))
        made.append(ir.State(state.name, body, _check_transition(state, inner, {*names, *_ENDS})))
    return made


def _check_transition(state: tree.StateDeclaration, scope: Scope, states: set[str]) -> ir.Transition:
    node = state.transition
    if node is None:
        return ir.Transition("reject", (), ())
    for target in [node.state] if node.state else [case.state for case in node.cases]:
        if target not in states:
            raise Refused(node.pos, f"transition {target}", "no such state")
    if node.state:
        return ir.Transition(node.state, (), ())
    if not node.subjects:
        return ir.Transition(_only_default(node), (), ())
    subjects = tuple(check_expression(subject, scope) for subject in node.subjects)
    for subject, written in zip(subjects, node.subjects, strict=True):
        if subject.type == t.INTEGER or t.key_width(subject.type) is None:
            raise Refused(written.pos, "select", f"cannot be over {subject.type}")
    return ir.Transition("", subjects, tuple(_check_case(case, subjects, scope) for case in node.cases))


def _only_default(node: tree.Transition) -> str:
    """Return the target of ``select()`` without subjects."""
    for case in node.cases:
        if not isinstance(case.keys, tree.Anything):
            break
        return case.state
    raise Refused(node.pos, "select", "without subjects can have a default only")


def _value_set(node: tree.Expr, scope: Scope) -> ir.ValueSet | None:
    if isinstance(node, tree.Name):
        entity = scope.look_up(node.name, node.pos, node.top_level)
        if isinstance(entity, ir.ValueSet):
            return entity
    return None


def _check_case(case: tree.SelectCase, subjects: tuple[ir.Expr, ...], scope: Scope) -> ir.SelectCase:
    whole = _value_set(case.keys, scope)
    if whole is not None:
        if len(whole.keys) != len(subjects):
            raise Refused(case.pos, whole.name, f"has {len(whole.keys)} fields for {len(subjects)} subjects")
        return ir.SelectCase(whole, case.state, case.pos)
    parts = key_items(case.keys)
    if len(parts) == 1 and isinstance(parts[0], tree.Anything):
        parts = parts * len(subjects)
    if len(parts) != len(subjects):
        raise Refused(case.pos, "select case", f"{len(parts)} parts for {len(subjects)} subjects")
    sets = []
    for part, subject in zip(parts, subjects, strict=True):
        values = _value_set(part, scope)
        if values is not None and len(values.keys) != 1:
            raise Refused(part.pos, values.name, "has several fields")
        sets.append(ir.KeySet(None, values) if values else ir.KeySet(check_match(part, subject.type, scope)))
    return ir.SelectCase(tuple(sets), case.state, case.pos)


def declare_value_set(node: tree.ValueSet, scope: Scope) -> ir.ValueSet:
    """Declare a parser value set."""
    unit = scope.unit
    type_ = resolve_type(node.type, scope)
    name = control_plane_name(node.name, scope.frame.path, node.annotations)
    size = constant_int(node.size, scope, "value_set size")
    values = ir.ValueSet(
        name,
        unit.unique(node.name),
        _set_fields(type_, node),
        size,
        node.annotations,
        node.pos,
        len(unit.value_sets),
    )
    unit.value_sets.append(values)
    scope.declare(node.name, values, node.pos)
    return values


def _set_fields(type_: t.Type, node: tree.ValueSet) -> list[ir.Key]:
    base = t.unwrap_type(type_)
    if isinstance(base, t.Struct) and base.kind == "struct":
        kinds = {}
        annotations = {}
        for member in base.declaration.fields if base.declaration else ():
            annotations[member.name] = member.annotations
            for annotation in member.annotations:
                if annotation.name == "match" and annotation.body:
                    kinds[member.name] = annotation.body[0][1]
        parts = [
            (name, field, kinds.get(name, "exact"), annotations.get(name, ())) for name, field in base.fields
        ]
    elif isinstance(base, t.Tuple):
        parts = [(f"f{at}", item, "exact", ()) for at, item in enumerate(base.items)]
    else:
        parts = [("", type_, "exact", ())]
    keys = []
    for name, field, kind, notes in parts:
        if t.key_width(field) is None:
            raise Refused(node.pos, f"value_set of {type_}", "not supported")
        keys.append(ir.Key(ir.Default(field), kind, name, tuple(notes), node.pos))
    return keys
