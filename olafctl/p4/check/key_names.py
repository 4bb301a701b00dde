"""The names of table keys, as p4c derives them from the keys' expressions."""

from olafctl.p4.check.expressions import check
from olafctl.p4.check.scope import Scope, Value
from olafctl.p4.ir import nodes as ir
from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Refused
from olafctl.p4.syntax import literals, tree
from olafctl.p4.syntax.annotations import control_plane_name, given_name, named


def key_name(item: tree.KeyElement, scope: Scope) -> str:
    """The control plane's name of a key; raises Refused when only ``@name`` could give one."""
    if named(item.annotations, "name"):
        return control_plane_name("", "", item.annotations)
    name = _text(item.value, scope)
    if not name:
        raise Refused(item.pos, "table key", "an expression like this needs a @name")
    return name


def _text(node: tree.Expr, scope: Scope) -> str:
    """The expression as a name; empty when it has none."""
    match node:
        case tree.Number():
            return literals.written(node)
        case tree.Boolean(value=truth):
            return str(truth).lower()
        case tree.Name(name=name):
            return _constant(node, scope) or name
        case tree.Member(base=base, name=name):
            field = _field_name(base, name, scope)
            return field[1:] if field.startswith(".") else _joined("{}.{}", _text(base, scope), field)
        case tree.Index(base=base, index=index):
            return _joined("{}[{}]", _text(base, scope), _text(index, scope))
        case tree.Slice(base=base, high=high, low=low):
            return _joined("{}[{}:{}]", _text(base, scope), _text(high, scope), _text(low, scope))
        case tree.Call(callee=tree.Member(base=base, name="isValid"), args=()):
            return _joined("{}.$valid$", _text(base, scope))
        case tree.Binary(op="&", left=left, right=right):
            return _joined("{} & {}", _text(left, scope), _text(right, scope))
        case tree.Cast(operand=operand):
            return _text(operand, scope)
        case tree.Binary():
            return _constant(node, scope)
    return ""


def _joined(form: str, *parts: str) -> str:
    return form.format(*parts) if all(parts) else ""


def _constant(node: tree.Name | tree.Binary, scope: Scope) -> str:
    """A compile-time number, in the base of its declaration; empty for anything else."""
    entity = scope.find(node.name) if isinstance(node, tree.Name) else None
    if isinstance(node, tree.Name) and not isinstance(entity, Value):
        return ""
    value = check(node, scope)
    if not isinstance(value, ir.Const) or isinstance(value.value, str):
        return ""
    base = entity.base if isinstance(entity, Value) else 10
    return literals.written(tree.Number(node.pos, int(value.value), None, False, base))


def _field_name(base: tree.Expr, name: str, scope: Scope) -> str:
    """A field's name, or the one that its ``@name`` gives it; after a dot it stands for the whole path."""
    type_ = t.unwrapped(check(base, scope).type)
    declaration = type_.declaration if isinstance(type_, t.Struct) else None
    for member in declaration.fields if declaration else ():
        if member.name == name:
            return given_name(member.annotations) or name
    return name
