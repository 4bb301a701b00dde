"""Check tables: key, actions, default action, entries, and attached externs."""

from olafswitch.p4.check.calls import local_action, make_instance
from olafswitch.p4.check.entries import action_call, check_entries
from olafswitch.p4.check.expressions import check_constant, check_expression, check_writable, constant_int
from olafswitch.p4.check.scope import Scope, Value
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import literals, tree
from olafswitch.p4.syntax.annotations import control_plane_name, find_annotation, given_name

_KINDS = ("exact", "lpm", "ternary", "range", "optional", "selector")
DEFAULT_SIZE = 1024


def make_table(node: tree.Table, scope: Scope, path: str, block: ir.Block) -> ir.Table:
    """Return the table, checked.

    Raises Refused at the property that the architecture does not have or that does not fit.
    """
    architecture = scope.unit.architecture
    properties: dict[str, tree.Property] = {}
    for item in node.properties:
        if item.name not in architecture.table_properties:
            raise Refused(item.pos, f"table property {item.name}", f"not one of {architecture.name}'s")
        if item.name in properties:
            raise Refused(item.pos, f"table property {item.name}", "given twice")
        properties[item.name] = item
    if "actions" not in properties:
        raise Refused(node.pos, f"table {node.name}", "has no actions")
    name = control_plane_name(node.name, path, node.annotations)
    keys = _check_keys(properties.get("key"), scope)
    actions = _check_actions(properties["actions"], scope)
    default, data, const = _check_default(properties.get("default_action"), actions, node, scope)
    listed = properties.get("entries")
    if listed and _check_entries(listed) and not keys:
        raise Refused(listed.pos, "entries", f"table {node.name} has no key that they could match")
    if listed and any(key.kind == "selector" for key in keys):
        raise Refused(listed.pos, "entries", f"a table with selector keys, as {node.name}, cannot have any")
    entries = (
        check_entries(_check_entries(listed), listed.const, keys, actions, properties, scope, node.name)
        if listed
        else []
    )
    table = ir.Table(
        name=name, cpp=scope.unit.unique(node.name), keys=keys, actions=actions, default=default,
        default_data=data, default_const=const, entries=entries,
        entries_const=listed is not None and listed.const,
        size=_check_size(properties.get("size"), len(entries), scope),
        counter=_find_attached(properties.get("counters"), "direct_counter", scope),
        meter=_find_attached(properties.get("meters"), "direct_meter", scope),
        profile=_find_profile(properties.get("implementation"), scope),
        idle_timeout=_check_flag(properties.get("support_timeout"), scope),
        annotations=node.annotations, pos=node.pos,
    )  # fmt: skip
    _check_whole(table, node)
    scope.unit.tables.append(table)
    return table


def _check_whole(table: ir.Table, node: tree.Table) -> None:
    kinds = [key.kind for key in table.keys]
    if kinds.count("lpm") > 1:
        raise Refused(node.pos, f"table {node.name}", "more than one lpm key")
    if table.profile is not None and table.entries:
        raise Refused(
            node.pos, f"table {node.name}", "entries of a table with an implementation are not supported"
        )


def _check_keys(node: tree.Property | None, scope: Scope) -> list[ir.Key]:
    keys: list[ir.Key] = []
    for item in node.value if node else ():  # type: ignore[union-attr]  # the grammar makes it a tuple
        assert isinstance(item, tree.KeyElement)
        if item.match_kind not in scope.unit.match_kinds:
            raise Refused(item.pos, f"match kind {item.match_kind}", "not declared")
        if item.match_kind not in _KINDS:
            raise Refused(item.pos, f"match kind {item.match_kind}", "not supported")
        value = check_expression(item.value, scope)
        if value.type == t.INTEGER or t.key_width(value.type) is None:
            raise Refused(item.pos, "table key", f"cannot be of type {value.type}")
        base = t.strip_type(value.type)
        if item.match_kind == "range" and isinstance(base, t.Bit) and base.signed:
            raise Refused(item.pos, "table key", "a range of signed numbers is not supported")
        name = _key_name(item, scope)
        keys.append(ir.Key(value, item.match_kind, name, item.annotations, item.pos))
    return keys


def _check_actions(node: tree.Property, scope: Scope) -> list[ir.TableAction]:
    made: list[ir.TableAction] = []
    for item in node.value:  # type: ignore[union-attr]  # the grammar makes it a tuple
        assert isinstance(item, tree.ActionRef)
        entity = scope.look_up(item.name, item.pos)
        action = (
            local_action(entity, scope, item.pos) if isinstance(entity, tree.ActionDeclaration) else entity
        )
        if not isinstance(action, ir.Action):
            raise Refused(item.pos, item.name, "not an action")
        if any(other.action is action for other in made):
            raise Refused(item.pos, item.name, "listed twice")
        names = {annotation.name for annotation in item.annotations}
        where = "table_only" if "tableonly" in names else "default_only" if "defaultonly" in names else ""
        args = _bind_action(item, action, scope)
        made.append(ir.TableAction(action, args, item.annotations, where, item.name))
    return made


def _bind_action(node: tree.ActionRef, action: ir.Action, scope: Scope) -> tuple[ir.Arg, ...]:
    directed = [param for param in action.params if param.direction]
    if len(node.args) != len(directed):
        raise Refused(node.pos, node.name, f"{len(directed)} directed parameters, {len(node.args)} arguments")
    args = []
    for param, arg in zip(directed, node.args, strict=True):
        if arg.value is None:
            raise Refused(arg.pos, param.name, "needs a value")
        if param.direction == "in":
            value = check_expression(arg.value, scope, param.type)
        else:
            value = check_writable(arg.value, scope)
            if value.type != param.type:
                raise Refused(arg.pos, param.name, f"is {param.type}, the argument {value.type}")
        args.append(ir.Arg(param.direction, value, param.type))
    return tuple(args)


def _check_default(
    node: tree.Property | None, actions: list[ir.TableAction], table: tree.Table, scope: Scope
) -> tuple[int, tuple[int, ...], bool]:
    if node is not None:
        assert not isinstance(node.value, tuple)
        at, data = action_call(node.value, actions, scope, table.name)
        if actions[at].scope == "table_only":
            raise Refused(node.pos, "default_action", "this action is @tableonly")
        return at, data, node.const
    for at, entry in enumerate(actions):
        if entry.action.name == "NoAction" and entry.scope != "table_only":
            return at, (), False
    nothing = scope.top().find("NoAction")
    if not isinstance(nothing, tree.ActionDeclaration):
        raise Refused(table.pos, f"table {table.name}", "has no default_action, and NoAction is not declared")
    action = local_action(nothing, scope, table.pos)
    actions.append(ir.TableAction(action, (), (), "default_only", "NoAction"))
    return len(actions) - 1, (), False


def _check_entries(node: tree.Property) -> list[tree.Entry]:
    assert isinstance(node.value, tuple)
    return [entry for entry in node.value if isinstance(entry, tree.Entry)]


def _check_size(node: tree.Property | None, entries: int, scope: Scope) -> int:
    """Return the number of entries that fit; as in p4c, no size and 0 mean the default."""
    if node is None:
        return max(DEFAULT_SIZE, entries)
    assert not isinstance(node.value, tuple)
    size = constant_int(node.value, scope, "size")
    if not 0 <= size < 1 << 31:
        raise Refused(node.pos, "size", f"{size} is not a number of entries")
    return max(size or DEFAULT_SIZE, entries)


def _check_flag(node: tree.Property | None, scope: Scope) -> bool:
    if node is None:
        return False
    assert not isinstance(node.value, tuple)
    return bool(check_constant(node.value, scope, node.name, t.BOOL).value)


def _named_instance(node: tree.Property, scope: Scope) -> ir.Instance:
    """Return an extern object that is named, or made in place."""
    if isinstance(node.value, tree.Name):
        entity = scope.look_up(node.value.name, node.value.pos)
        if isinstance(entity, ir.Instance):
            return entity
    if isinstance(node.value, tree.Call) and isinstance(node.value.callee, tree.Name):
        callee = node.value.callee
        base = tree.NamedType(callee.pos, callee.name)
        args = node.value.type_args
        type_ = resolve_type(tree.Specialized(node.pos, base, args) if args else base, scope)
        if isinstance(type_, t.Extern):
            if not find_annotation(node.annotations, "name"):
                raise Refused(node.pos, node.name, "an extern object that is made here needs a @name")
            name = control_plane_name("", "", node.annotations)
            made = make_instance(type_, node.value.args, scope, name, node.annotations, node.pos)
            made.in_table = True
            return made
    raise Refused(node.pos, node.name, "an extern object is needed here")


def _find_attached(node: tree.Property | None, extern: str, scope: Scope) -> ir.Instance | None:
    if node is None:
        return None
    instance = _named_instance(node, scope)
    if instance.type.name != extern:
        raise Refused(node.pos, node.name, f"needs a {extern}, not a {instance.type}")
    if any(instance in (other.counter, other.meter) for other in scope.unit.tables):
        raise Refused(node.pos, node.name, f"{instance.name} already belongs to another table")
    return instance


def _find_profile(node: tree.Property | None, scope: Scope) -> ir.Instance | None:
    if node is None:
        return None
    instance = _named_instance(node, scope)
    if instance.type.name not in ("action_profile", "action_selector"):
        raise Refused(node.pos, "implementation", f"cannot be a {instance.type}")
    return instance


# --- the names of keys, as p4c derives them from the keys' expressions -------------------------------------


def _key_name(item: tree.KeyElement, scope: Scope) -> str:
    """Return the control plane's name of a key; raises Refused when only ``@name`` could give one."""
    if find_annotation(item.annotations, "name"):
        return control_plane_name("", "", item.annotations)
    name = _key_text(item.value, scope)
    if not name:
        raise Refused(item.pos, "table key", "an expression like this needs a @name")
    return name


def _key_text(node: tree.Expr, scope: Scope) -> str:
    """Return the expression as a name; empty when it has none."""
    match node:
        case tree.Number():
            return literals.write_number(node)
        case tree.Boolean(value=truth):
            return str(truth).lower()
        case tree.Name(name=name):
            return _check_table_constant(node, scope) or name
        case tree.MemberExpression(base=base, name=name):
            field = _field_name(base, name, scope)
            return field[1:] if field.startswith(".") else _join_names("{}.{}", _key_text(base, scope), field)
        case tree.Index(base=base, index=index):
            return _join_names("{}[{}]", _key_text(base, scope), _key_text(index, scope))
        case tree.Slice(base=base, high=high, low=low):
            return _join_names(
                "{}[{}:{}]", _key_text(base, scope), _key_text(high, scope), _key_text(low, scope)
            )
        case tree.Call(callee=tree.MemberExpression(base=base, name="isValid"), args=()):
            return _join_names("{}.$valid$", _key_text(base, scope))
        case tree.Binary(op="&", left=left, right=right):
            return _join_names("{} & {}", _key_text(left, scope), _key_text(right, scope))
        case tree.Cast(operand=operand):
            return _key_text(operand, scope)
        case tree.Binary():
            return _check_table_constant(node, scope)
    return ""


def _join_names(form: str, *parts: str) -> str:
    return form.format(*parts) if all(parts) else ""


def _check_table_constant(node: tree.Name | tree.Binary, scope: Scope) -> str:
    """Return a compile-time number, in the base of its declaration; empty for anything else."""
    entity = scope.find(node.name) if isinstance(node, tree.Name) else None
    if isinstance(node, tree.Name) and not isinstance(entity, Value):
        return ""
    value = check_expression(node, scope)
    if not isinstance(value, ir.Const) or isinstance(value.value, str):
        return ""
    base = entity.base if isinstance(entity, Value) else 10
    return literals.write_number(tree.Number(node.pos, int(value.value), None, False, base))


def _field_name(base: tree.Expr, name: str, scope: Scope) -> str:
    """Return a field's name, or that of its ``@name``; after a dot it replaces the whole path."""
    type_ = t.unwrap_type(check_expression(base, scope).type)
    declaration = type_.declaration if isinstance(type_, t.Struct) else None
    for member in declaration.fields if declaration else ():
        if member.name == name:
            return given_name(member.annotations) or name
    return name
