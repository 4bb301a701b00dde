"""Types (P4_16 §7), resolved: no names to look up, all widths known."""

from __future__ import annotations

from dataclasses import field

from olafswitch.p4.frozen import Frozen
from olafswitch.p4.syntax import tree


class Bit(Frozen):
    """``bit<width>``, or ``int<width>`` when signed; values are stored as ``width`` bits either way."""

    width: int
    signed: bool = False
    exact: bool = False
    """True for an ``int``: ``width`` bits hold it and all results computed from it."""

    def __str__(self) -> str:
        return "int" if self.exact else f"{'int' if self.signed else 'bit'}<{self.width}>"


class Simple(Frozen):
    """A type without parts: ``bool``, ``error``, ``string``, ``void``, ``match_kind``, unbounded ``int``."""

    name: str

    def __str__(self) -> str:
        return self.name


BOOL, ERROR, STRING, VOID, INTEGER = map(Simple, ("bool", "error", "string", "void", "int"))
MATCH_KIND = Simple("match_kind")
EXACT = Bit(64, True, True)
"""A parameter of type ``int``, whose value each call gives as a constant."""
ANY = Simple("_")
"""A type to be inferred."""
DOTS = Simple("...")
"""The type of ``...`` before the type that it fills is known."""
INVALID = Simple("{#}")
"""The type of ``{#}`` before its header type is known."""


class Varbit(Frozen):
    width: int

    def __str__(self) -> str:
        return f"varbit<{self.width}>"


class Struct(Frozen):
    """A struct, header or header union (``kind``)."""

    kind: str
    name: str
    fields: tuple[tuple[str, Type], ...]
    declaration: tree.StructLike | None = field(default=None, compare=False, repr=False)
    lists: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)
    """The field lists that each field belongs to."""

    def __str__(self) -> str:
        return self.name

    def field(self, name: str) -> Type | None:
        return next((type_ for known, type_ in self.fields if known == name), None)


class Stack(Frozen):
    element: Type
    size: int

    def __str__(self) -> str:
        return f"{self.element}[{self.size}]"


class Tuple(Frozen):
    """``tuple<...>``; with names, the type of a struct expression until its own type is known."""

    items: tuple[Type, ...]
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.items))}>"


class ListOf(Frozen):
    item: Type

    def __str__(self) -> str:
        return f"list<{self.item}>"


class Enum(Frozen):
    """An enumeration; serializable when it has an ``underlying`` type."""

    name: str
    members: tuple[tuple[str, int], ...]
    underlying: Bit | None = None

    def __str__(self) -> str:
        return self.name


class NewType(Frozen):
    """``type T name``: a distinct type with T's values, and no operators except comparison."""

    name: str
    base: Type
    declaration: tree.Alias | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


class Variable(Frozen):
    """A type parameter."""

    name: str
    owner: str = ""
    """The declaration that the type parameter belongs to; equal names of different owners differ."""

    def __str__(self) -> str:
        return self.name


class Extern(Frozen):
    """An extern object's type."""

    name: str
    args: tuple[Type, ...]
    declaration: tree.ExternObject = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.args))}>" if self.args else self.name


class BlockType(Frozen):
    """A parser's, control's or package's type."""

    kind: str
    name: str
    args: tuple[Type, ...]
    declaration: tree.BlockType | tree.Parser | tree.Control = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


Type = (
    Bit | Simple | Varbit | Struct | Stack | Tuple | ListOf | Enum | NewType | Variable | Extern | BlockType
)  # fmt: skip


def is_exact(type_: Type) -> bool:
    """Return whether the type is an ``int`` whose value only a call knows."""
    return isinstance(type_, Bit) and type_.exact


def strip_type(type_: Type) -> Type:
    """Return the type of the values under ``type`` and serializable ``enum``."""
    while True:
        if isinstance(type_, NewType):
            type_ = type_.base
        elif isinstance(type_, Enum) and type_.underlying is not None:
            type_ = type_.underlying
        else:
            return type_


def unwrap_type(type_: Type) -> Type:
    """Return the type under each ``type``; unlike :func:`strip_type`, leave enumerations as they are."""
    while isinstance(type_, NewType):
        type_ = type_.base
    return type_


def is_header(type_: Type) -> bool:
    return isinstance(type_, Struct) and type_.kind == "header"


def is_union(type_: Type) -> bool:
    return isinstance(type_, Struct) and type_.kind == "header_union"


def fixed_width(type_: Type) -> int | None:
    """Return the type's bits when packed; None when their number is not fixed."""
    _, most, fixed = _type_extent(type_)
    return most if fixed else None


def max_width(type_: Type) -> int:
    """Return the bits that a value occupies when packed, a varbit at its longest."""
    return _type_extent(type_)[1]


def min_width(type_: Type) -> int:
    """Return the bits that a value occupies when packed, a varbit and a union at their shortest."""
    return _type_extent(type_)[0]


def _type_extent(type_: Type) -> tuple[int, int, bool]:
    """Return the fewest and the most bits of a packed value, and whether their number is fixed."""
    match strip_type(type_):
        case Bit(width=width):
            return width, width, True
        case Simple(name="bool"):
            return 1, 1, True
        case Varbit(width=width):
            return 0, width, False
        case Struct() | Tuple() | Stack() as whole:
            extents = [_type_extent(part) for part in type_parts(whole)]
            fewest, most = [low for low, _, _ in extents], [high for _, high, _ in extents]
            if is_union(whole):
                return min(fewest, default=0), max(most, default=0), False
            times = whole.size if isinstance(whole, Stack) else 1
            return sum(fewest) * times, sum(most) * times, all(fixed for _, _, fixed in extents)
    return 0, 0, False


def key_width(type_: Type) -> int | None:
    """Return the bits of a type that can be matched on; None for any other type."""
    base = strip_type(type_)
    if isinstance(base, Bit):
        return base.width
    if base == BOOL:
        return 1
    if base == ERROR:
        return 16
    return 32 if isinstance(base, Enum) else None


def substitute_types(type_: Type, bindings: dict[Variable, Type]) -> Type:
    """Return ``type_`` with its type parameters replaced."""
    match type_:
        case Variable():
            return bindings.get(type_, type_)
        case Stack():
            return Stack(substitute_types(type_.element, bindings), type_.size)
        case Tuple():
            return Tuple(tuple(substitute_types(t, bindings) for t in type_.items), type_.names)
        case ListOf():
            return ListOf(substitute_types(type_.item, bindings))
        case Extern():
            return Extern(
                type_.name, tuple(substitute_types(t, bindings) for t in type_.args), type_.declaration
            )
        case BlockType():
            args = tuple(substitute_types(t, bindings) for t in type_.args)
            return BlockType(type_.kind, type_.name, args, type_.declaration)
        case Struct(fields=fields) if any(has_variables(t) for _, t in fields):
            inner = tuple((name, substitute_types(field, bindings)) for name, field in fields)
            return Struct(type_.kind, type_.name, inner, type_.declaration, type_.lists)
    return type_


def has_variables(type_: Type) -> bool:
    """Return whether a type parameter remains in ``type_``."""
    return isinstance(type_, Variable) or any(map(has_variables, type_parts(type_)))


def type_parts(type_: Type) -> tuple[Type, ...]:
    """Return the types that ``type_`` is made of, in order; a stack's element type once."""
    match type_:
        case Stack(element=inner) | ListOf(item=inner):
            return (inner,)
        case Tuple(items=items) | Extern(args=items) | BlockType(args=items):
            return items
        case Struct(fields=fields):
            return tuple(inner for _, inner in fields)
    return ()
