"""Resolve types as written, and infer type parameters from arguments."""

from olafswitch.p4.check.scope import Generic, Scope
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.literals import parse_literal

_SIMPLE = {s.name: s for s in (t.BOOL, t.ERROR, t.STRING, t.VOID, t.INTEGER, t.MATCH_KIND, t.ANY)}
MAX_WIDTH = 4096
"""The widest field that is compiled, in bits."""
MAX_STACK = 1024
"""The longest header stack that is compiled."""


def resolve_type(node: tree.Type, scope: Scope) -> t.Type:
    """Return the type that ``node`` names in ``scope``.

    Raises Refused where a name is not a type, or a width or size is not a positive constant.
    """
    match node:
        case tree.BaseType(name=name):
            return _SIMPLE[name]
        case tree.SizedType(name=name):
            return _resolve_sized(node, scope)
        case tree.NamedType():
            return _resolve_named(node, scope)
        case tree.Specialized(base=base, args=args):
            entity = scope.look_up(base.name, base.pos, base.top_level)
            if not isinstance(entity, Generic):
                raise Refused(node.pos, base.name, "takes no type arguments")
            return specialize_type(entity, tuple(resolve_type(a, scope) for a in args), scope, node.pos)
        case tree.StackType(element=element, size=size):
            inner = resolve_type(element, scope)
            if not (t.is_header(inner) or t.is_union(inner) or isinstance(inner, t.Variable)):
                raise Refused(node.pos, f"array of {inner}", "only headers and header unions make stacks")
            return t.Stack(inner, _bounded_constant(size, scope, "header stack size", 1, MAX_STACK))
        case tree.TupleType(items=items):
            return t.Tuple(tuple(resolve_type(item, scope) for item in items))
        case tree.ListType(item=item):
            return t.ListOf(resolve_type(item, scope))


def _bounded_constant(node: tree.Expr, scope: Scope, what: str, low: int, high: int) -> int:
    value = scope.unit.on_demand.constant(node, scope, what)
    if not low <= value <= high:
        raise Refused(node.pos, what, f"{value} is not within {low}..{high}")
    return value


def _resolve_sized(node: tree.SizedType, scope: Scope) -> t.Type:
    low = 0 if node.name != "int" else 1
    width = _bounded_constant(node.width, scope, f"{node.name}<> width", low, MAX_WIDTH)
    if node.name == "varbit":
        return t.Varbit(width)
    return t.Bit(width, node.name == "int")


def _resolve_named(node: tree.NamedType, scope: Scope) -> t.Type:
    entity = scope.look_up(node.name, node.pos, node.top_level)
    if isinstance(entity, t.Type):
        return entity
    if isinstance(entity, tree.Parser | tree.Control):
        kind = "parser" if isinstance(entity, tree.Parser) else "control"
        return t.BlockType(kind, entity.name, (), entity)
    if isinstance(entity, Generic):
        return specialize_type(entity, (t.ANY,) * len(entity.type_params), scope, node.pos)
    raise Refused(node.pos, node.name, "not a type")


def specialize_type(declaration: Generic, args: tuple[t.Type, ...], scope: Scope, pos: Pos) -> t.Type:
    """Return the type that a generic declaration makes of ``args``."""
    params = declaration.type_params
    if len(params) != len(args):
        raise Refused(pos, declaration.name, f"takes {len(params)} type arguments, not {len(args)}")
    match declaration:
        case tree.ExternObject():
            return t.Extern(declaration.name, args, declaration)
        case tree.BlockType():
            return t.BlockType(declaration.kind, declaration.name, args, declaration)
        case tree.StructLike():
            inner = scope.top().inner()
            for param, arg in zip(params, args, strict=True):
                inner.declare(param, arg, pos)
            name = declaration.name + (f"<{', '.join(map(str, args))}>" if args else "")
            return make_struct(declaration, name, inner)


def make_struct(declaration: tree.StructLike, name: str, scope: Scope) -> t.Struct:
    """Return a struct, header or header union with its fields resolved and checked."""
    fields: dict[str, t.Type] = {}
    lists = []
    for member in declaration.fields:
        if member.name in fields:
            raise Refused(member.pos, f"{declaration.kind} {name}", f"two fields are named {member.name}")
        type_ = resolve_type(member.type, scope)
        check_field(declaration.kind, type_, member)
        fields[member.name] = type_
        lists.append(field_lists(member.annotations, scope))
    return t.Struct(declaration.kind, name, tuple(fields.items()), declaration, tuple(lists))


def field_lists(annotations: tree.Annotations, scope: Scope) -> tuple[int, ...]:
    """Return the numbers of ``@field_list(1, Lists.mine)``."""
    numbers = []
    for annotation in annotations:
        if annotation.name != "field_list":
            continue
        expr: tree.Expr | None = None
        for kind, text in (*annotation.body, (",", ",")):
            if kind == "INTEGER":
                expr = parse_literal(text, annotation.pos)
            elif kind == "," and expr is not None:
                numbers.append(scope.unit.on_demand.constant(expr, scope, "@field_list"))
                expr = None
            elif text.isidentifier():
                name = tree.Name(annotation.pos, text)
                expr = name if expr is None else tree.MemberExpression(annotation.pos, expr, text)
            elif kind != ".":
                raise Refused(annotation.pos, "@field_list", f"{text} is not understood in it")
    return tuple(numbers)


def check_field(kind: str, type_: t.Type, member: tree.Field) -> None:
    base = t.unwrap_type(type_)
    if isinstance(base, t.Extern | t.BlockType) or base in (t.VOID, t.INTEGER, t.STRING, t.MATCH_KIND):
        raise Refused(member.pos, f"{kind} field {member.name}", f"cannot be of type {type_}")
    if kind == "header_union" and not (t.is_header(base) or isinstance(base, t.Variable)):
        raise Refused(member.pos, f"header_union field {member.name}", "must be a header")
    if kind == "header":
        plain = isinstance(base, t.Bit | t.Varbit | t.Variable) or base in (t.BOOL, t.ANY)
        enum = isinstance(base, t.Enum) and base.underlying is not None
        nested = isinstance(base, t.Struct) and base.kind == "struct" and t.fixed_width(base) is not None
        if not (plain or enum or nested):
            raise Refused(member.pos, f"header field {member.name}", f"cannot be of type {type_}")


def unify_types(formal: t.Type, actual: t.Type, bindings: dict[t.Variable, t.Type]) -> None:
    """Bind ``formal``'s type parameters as an argument's type requires; coercion reports mismatches."""
    if isinstance(formal, t.Variable):
        known = bindings.get(formal)
        loose = known in (t.ANY, t.INTEGER) or isinstance(known, t.Tuple)
        if known is None or (loose and actual != t.ANY):
            bindings[formal] = actual
    elif type(formal) is type(actual) or (isinstance(formal, t.Struct) and isinstance(actual, t.Tuple)):
        for left, right in zip(t.type_parts(formal), t.type_parts(actual), strict=False):
            unify_types(left, right, bindings)
