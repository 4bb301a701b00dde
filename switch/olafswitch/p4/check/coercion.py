"""Implicit and explicit conversions between types (P4_16 §8.10, §8.11)."""

from olafswitch.p4.check.constants import mask_value, sign_value
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects
from olafswitch.p4.refuse import Pos, Refused


def coerce_to(expr: ir.Expr, want: t.Type, pos: Pos) -> ir.Expr:
    """Return ``expr`` as a value of ``want``, where the language converts implicitly.

    Raises Refused where it does not.
    """
    have = expr.type
    if want == t.ANY or have == want or isinstance(want, t.Variable):
        return expr
    base = t.unwrap_type(want)
    if have in (t.DOTS, t.INVALID):
        if have == t.INVALID and not (t.is_header(base) or t.is_union(base)):
            raise Refused(pos, "{#}", f"{want} is not a header")
        return ir.Default(want)
    if have == t.INTEGER and isinstance(base, t.Bit) and isinstance(expr, ir.Const) and base == want:
        return ir.Const(want, mask_value(int(expr.value), want))
    if have == t.INTEGER and isinstance(expr, ir.Const) and want == t.EXACT:
        if not -(1 << (t.EXACT.width - 1)) <= int(expr.value) < 1 << (t.EXACT.width - 1):
            raise Refused(pos, str(expr.value), f"an int argument can have {t.EXACT.width} bits at most")
        return ir.Const(want, mask_value(int(expr.value), want))
    if t.is_exact(have) and isinstance(want, t.Bit):
        if isinstance(have, t.Bit) and want.exact and want.width < have.width:
            raise Refused(pos, "int", f"the result may need more than the {want.width} bits of an argument")
        return ir.Cast(want, expr)
    if isinstance(have, t.Enum) and have.underlying is not None and isinstance(want, t.Bit):
        return coerce_to(_relabel_type(expr, have.underlying), want, pos)
    if isinstance(have, t.Tuple):
        parts = _convert_parts(expr, have, want, pos)
        if parts is not None:
            return ir.Make(want, parts, _written_order(expr, have, want))
    if isinstance(base, t.Stack) and isinstance(have, t.ListOf) and isinstance(expr, ir.Make):
        return coerce_to(_as_tuple(expr), want, pos)
    raise Refused(pos, str(have), f"{want} is needed here")


def coerce_initial(expr: ir.Expr, want: t.Type, pos: Pos) -> ir.Expr:
    """Return ``expr`` as :func:`coerce_to` does, for the value of a declaration or assignment, where a number
    needs no cast to a ``type`` of numbers."""
    base = t.unwrap_type(want)
    if expr.type == t.INTEGER and isinstance(expr, ir.Const) and isinstance(base, t.Bit):
        return ir.Const(want, mask_value(int(expr.value), base))
    return coerce_to(expr, want, pos)


def _relabel_type(expr: ir.Expr, type_: t.Type) -> ir.Expr:
    """Return the same bits under another type."""
    if isinstance(expr, ir.Const):
        return ir.Const(type_, expr.value)
    return ir.Cast(type_, expr)


def _as_tuple(made: ir.Make) -> ir.Make:
    return ir.Make(t.Tuple(tuple(part.type for part in made.parts)), made.parts, made.order)


def _written_order(expr: ir.Expr, have: t.Tuple, want: t.Type) -> tuple[int, ...]:
    """Return the order in which the parts of ``want`` are evaluated: that in which ``expr`` has them."""
    if not isinstance(expr, ir.Make):
        return ()
    size, order = len(expr.parts), expr.order
    base = t.unwrap_type(want)
    if have.names is not None and isinstance(base, t.Struct):
        fields = [name for name, _ in base.fields]
        written = [fields.index(name) for name in have.names]
        order, size = tuple(written), len(fields)
    order = (*order, *(at for at in range(size) if at not in order)) if order else ()
    return order if order != tuple(sorted(order)) else ()


def _convert_parts(expr: ir.Expr, have: t.Tuple, want: t.Type, pos: Pos) -> tuple[ir.Expr, ...] | None:
    """Return the tuple's items as the parts of ``want``; None when ``want`` has no parts."""
    if isinstance(expr, ir.Make):
        given = list(expr.parts)
    else:
        if has_effects(expr):
            raise Refused(pos, str(have), f"{want} is needed here; put it in a variable of its type first")
        given = [ir.Element(item, expr, ir.Const(t.INTEGER, index)) for index, item in enumerate(have.items)]
    rest = bool(given) and given[-1].type == t.DOTS
    if rest:
        given.pop()
    match t.unwrap_type(want):
        case t.Struct(fields=fields) if have.names is not None:
            return _by_name(dict(zip(have.names, given, strict=True)), fields, rest, want, pos)
        case t.Struct(kind="struct" | "header", fields=fields):
            wanted = [type_ for _, type_ in fields]
        case t.Tuple(items=items):
            wanted = list(items)
        case t.Stack(element=element, size=size):
            wanted = [element] * size
        case t.ListOf(item=item):
            wanted = [item] * len(given)
        case _:
            return None
    if len(given) > len(wanted) or (len(given) < len(wanted) and not (rest or isinstance(want, t.Stack))):
        raise Refused(pos, "list expression", f"{len(given)} items where {want} has {len(wanted)}")
    given += [ir.Default(type_) for type_ in wanted[len(given) :]]
    return tuple(coerce_to(part, type_, pos) for part, type_ in zip(given, wanted, strict=True))


def _by_name(
    given: dict[str, ir.Expr], fields: tuple[tuple[str, t.Type], ...], rest: bool, want: t.Type, pos: Pos
) -> tuple[ir.Expr, ...]:
    for name in given:
        if name not in dict(fields):
            raise Refused(pos, "struct expression", f"{want} has no field {name}")
    missing = [name for name, _ in fields if name not in given]
    if missing and not rest:
        raise Refused(pos, "struct expression", f"{want}'s field {missing[0]} is not given")
    return tuple(coerce_to(given[n], type_, pos) if n in given else ir.Default(type_) for n, type_ in fields)


def cast_to(expr: ir.Expr, want: t.Type, pos: Pos) -> ir.Expr:
    """Return ``(want) expr``.

    Raises Refused where the language has no such cast.
    """
    have = expr.type
    if have == want or want == t.ANY:
        return expr
    source, target = t.strip_type(have), t.strip_type(want)
    if source == target:
        return _relabel_type(expr, want)
    if isinstance(target, t.Bit):
        if isinstance(expr, ir.Const) and (have == t.INTEGER or (source == t.BOOL and target == t.Bit(1))):
            return ir.Const(want, mask_value(int(expr.value), target))
        if source == t.BOOL and target == t.Bit(1):
            return ir.Cast(want, expr)
        if isinstance(source, t.Bit):
            if not t.is_exact(have) and source.signed != target.signed and source.width != target.width:
                raise Refused(pos, f"cast of {have} to {want}", "changes both width and sign; use two casts")
            if isinstance(expr, ir.Const):
                return ir.Const(want, mask_value(sign_value(int(expr.value), source), target))
            return ir.Cast(want, expr)
    if target == t.BOOL and source in (t.Bit(1), t.INTEGER):
        if isinstance(expr, ir.Const):
            return ir.Const(want, bool(expr.value))
        return ir.Cast(want, expr)
    if target == t.INTEGER and t.is_exact(have):
        return expr
    if target == t.INTEGER and isinstance(expr, ir.Const) and isinstance(source, t.Bit):
        return ir.Const(t.INTEGER, sign_value(int(expr.value), source))
    if isinstance(have, t.Tuple) or have in (t.DOTS, t.INVALID):
        return coerce_to(expr, want, pos)
    if isinstance(source, t.Struct) and isinstance(target, t.Struct) and isinstance(expr, ir.Make):
        alike = [n for n, _ in source.fields] == [n for n, _ in target.fields]
        if alike and source.kind == target.kind:
            return coerce_to(_as_tuple(expr), want, pos)
    raise Refused(pos, f"cast of {have} to {want}", "this cast does not exist")
