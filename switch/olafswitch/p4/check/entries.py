"""Key sets, which entries and select cases match, and a table's ``entries``: priorities and actions."""

from collections.abc import Sequence

from olafswitch.p4.check.expressions import check_constant, check_expression, constant_int
from olafswitch.p4.check.scope import Scope
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import given_number

_TOP = 1 << 30
"""A priority above every priority in a program in which smaller priorities win."""


def key_items(keys: tree.Expr) -> tuple[tree.Expr, ...]:
    """Return a key set's parts, one for each field."""
    match keys:
        case tree.KeyTuple(items=parts) | tree.ListOf(items=parts):
            return parts
    return (keys,)


def _constant_number(node: tree.Expr, type_: t.Type, scope: Scope) -> int:
    return int(check_constant(node, scope, "key set", type_).value)


def check_match(node: tree.Expr, type_: t.Type, scope: Scope) -> ir.Match:
    """Return the match of one field.

    Raises Refused when it is not constant, or the type does not fit.
    """
    match node:
        case tree.Anything():
            return ir.Match(None)
        case tree.Masked(value=value, mask=mask):
            bits = _constant_number(mask, t.strip_type(type_), scope)
            return ir.Match(_constant_number(value, t.strip_type(type_), scope) & bits, bits)
        case tree.Between(low=low, high=high):
            base = t.strip_type(type_)
            if isinstance(base, t.Bit) and base.signed:
                raise Refused(node.pos, "..", "a range of signed numbers is not supported")
            first, last = _constant_number(low, type_, scope), _constant_number(high, type_, scope)
            if first > last:
                raise Refused(node.pos, "..", f"{first} is above {last}")
            return ir.Match(first, high=last)
    return ir.Match(_constant_number(node, type_, scope))


def action_call(
    node: tree.Expr, actions: Sequence[ir.TableAction], scope: Scope, table: str
) -> tuple[int, tuple[int, ...]]:
    """Return the index of the action that ``node`` calls, and the data that it is called with."""
    call = node if isinstance(node, tree.Call) else tree.Call(node.pos, node, (), ())
    if not isinstance(call.callee, tree.Name):
        raise Refused(node.pos, f"table {table}", "an action is needed here")
    name = call.callee.name
    for at, entry in enumerate(actions):
        if entry.source == name:
            return at, _check_data(call, entry, scope)
    raise Refused(node.pos, name, f"table {table} does not list this action")


def _check_data(call: tree.Call, entry: ir.TableAction, scope: Scope) -> tuple[int, ...]:
    """Return the control plane's arguments; arguments that the table binds must be as in the table."""
    params = entry.action.params
    named = {arg.name: arg for arg in call.args if arg.name}
    if len(call.args) != len(params) or (named and named.keys() != {param.name for param in params}):
        raise Refused(call.pos, entry.source, f"{len(call.args)} arguments for {len(params)} parameters")
    bound = iter(entry.args)
    data = []
    for param, positional in zip(params, call.args, strict=True):
        arg = named.get(param.name, positional)
        if arg.value is None:
            raise Refused(call.pos, entry.source, f"no value for {param.name}")
        value = check_expression(arg.value, scope, param.type)
        if param.direction:
            if value != next(bound).value:
                raise Refused(arg.pos, param.name, "differs from the table's list of actions")
        elif not isinstance(value, ir.Const) or isinstance(value.value, str):
            raise Refused(arg.pos, param.name, "must be known at compile time")
        else:
            data.append(int(value.value))
    return tuple(data)


def _check_field_match(node: tree.Expr, key: ir.Key, scope: Scope) -> ir.Match:
    made = check_match(node, key.value.type, scope)
    width = t.key_width(key.value.type) or 0
    full = (1 << width) - 1
    if made.high is not None and key.kind != "range":
        raise Refused(node.pos, "..", f"{key.name} is matched {key.kind}, not by range")
    if made.mask is not None and made.mask != full:
        if key.kind not in ("ternary", "lpm"):
            raise Refused(node.pos, "&&&", f"{key.name} is matched {key.kind}, not by mask")
        inverted = ~made.mask & full
        if key.kind == "lpm" and inverted & (inverted + 1):
            raise Refused(node.pos, "&&&", f"{key.name}'s mask is not a prefix")
    if made.value is None and key.kind == "exact":
        raise Refused(node.pos, "_", f"{key.name} is matched exactly")
    return made


def check_entries(
    nodes: Sequence[tree.Entry], const: bool, keys: Sequence[ir.Key], actions: Sequence[ir.TableAction],
    properties: dict[str, tree.Property], scope: Scope, table: str,
) -> list[ir.Entry]:  # fmt: skip
    """Return all entries, each with its priority (0 where match kinds alone decide).

    Raises Refused where one does not fit the table's key or actions.
    """
    ordered = any(key.kind in ("ternary", "range", "optional") for key in keys)
    _check_priorities(nodes, const, ordered)
    priorities = _assign_priorities(nodes, properties, scope) if ordered else [0] * len(nodes)
    made: list[ir.Entry] = []
    for node, priority in zip(nodes, priorities, strict=True):
        parts = key_items(node.keys)
        if len(parts) == 1 and isinstance(parts[0], tree.Anything):
            parts = parts * len(keys)
        if len(parts) != len(keys):
            raise Refused(node.pos, f"entry of table {table}", f"{len(parts)} fields for {len(keys)} keys")
        matches = tuple(_check_field_match(part, key, scope) for part, key in zip(parts, keys, strict=True))
        action, data = action_call(node.action, actions, scope, table)
        if actions[action].scope == "default_only":
            raise Refused(node.pos, f"entry of table {table}", "its action is @defaultonly")
        entry = ir.Entry(matches, action, data, priority, const or node.const)
        if any(e.matches == matches and e.priority == priority for e in made) and not ordered:
            raise Refused(node.pos, f"entry of table {table}", "an earlier entry matches the same")
        made.append(entry)
    return made


def _check_priorities(nodes: Sequence[tree.Entry], const: bool, ordered: bool) -> None:
    written = [node for node in nodes if node.priority is not None]
    if written and (const or not ordered):
        why = "const entries cannot have one" if const else "no key of this table makes use of it"
        raise Refused(written[0].pos, "priority", why)
    if written and nodes[0].priority is None:
        raise Refused(nodes[0].pos, "priority", "the first entry must have one when others do")


def _assign_priorities(
    nodes: Sequence[tree.Entry], properties: dict[str, tree.Property], scope: Scope
) -> list[int]:
    """Return priorities as written or derived from the entry before (P4_16 §14.2.1.4); the largest wins."""
    annotated = [given_number(node.annotations, "priority") for node in nodes]
    if any(value is not None for value in annotated):
        given = [value if value is not None else at + 1 for at, value in enumerate(annotated)]
        return [_TOP - value for value in given]
    largest = _find_property(properties, "largest_priority_wins", 1, scope)
    delta = _find_property(properties, "priority_delta", 1, scope)
    chosen: list[int] = []
    for node in nodes:
        if node.priority is not None:
            value = constant_int(node.priority, scope, "priority")
        elif not chosen:
            value = (len(nodes) - 1) * delta + 1 if largest else 1
        else:
            value = chosen[-1] - delta if largest else chosen[-1] + delta
        if not 0 <= value < _TOP:
            raise Refused(node.pos, "priority", f"{value} is not within 0..{_TOP - 1}")
        chosen.append(value)
    return chosen if largest else [_TOP - value for value in chosen]


def _find_property(properties: dict[str, tree.Property], name: str, default: int, scope: Scope) -> int:
    found = properties.get(name)
    if found is None or isinstance(found.value, tuple):
        return default
    return constant_int(found.value, scope, name)
