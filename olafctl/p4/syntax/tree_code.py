"""Expressions, types and statements as written; :mod:`olafctl.p4.syntax.tree` has the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from olafctl.p4.refuse import Pos

if TYPE_CHECKING:
    from olafctl.p4.syntax.tree import Statement


@dataclass(frozen=True)
class Node:
    pos: Pos


@dataclass(frozen=True)
class Annotation(Node):
    """``@name(...)``; the body's tokens as (terminal, text) pairs."""

    name: str
    body: tuple[tuple[str, str], ...]


Annotations = tuple[Annotation, ...]


# --- expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Node):
    value: int
    width: int | None
    signed: bool


@dataclass(frozen=True)
class String(Node):
    value: str


@dataclass(frozen=True)
class Boolean(Node):
    value: bool


@dataclass(frozen=True)
class Name(Node):
    name: str
    top_level: bool = False
    """Written with a leading dot."""


@dataclass(frozen=True)
class Member(Node):
    base: Expr
    name: str


@dataclass(frozen=True)
class Index(Node):
    base: Expr
    index: Expr


@dataclass(frozen=True)
class Slice(Node):
    base: Expr
    high: Expr
    low: Expr
    width: bool = False
    """Written ``[high +: low]``: a base and a width."""


@dataclass(frozen=True)
class Unary(Node):
    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Mux(Node):
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Cast(Node):
    type: Type
    operand: Expr


@dataclass(frozen=True)
class Argument(Node):
    """One argument; ``value`` is None for ``_``."""

    name: str | None
    value: Expr | None


@dataclass(frozen=True)
class Call(Node):
    callee: Expr | Type
    type_args: tuple[Type, ...]
    args: tuple[Argument, ...]


@dataclass(frozen=True)
class ListOf(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Fields(Node):
    """``{ a = x, b = y }``; ``rest`` when it ends with ``...``."""

    items: tuple[tuple[str, Expr], ...]
    rest: bool


@dataclass(frozen=True)
class InvalidHeader(Node):
    """``{#}``"""


@dataclass(frozen=True)
class Dots(Node):
    """``...``"""


@dataclass(frozen=True)
class Anything(Node):
    """``_`` or ``default`` in a key set."""


@dataclass(frozen=True)
class Masked(Node):
    value: Expr
    mask: Expr


@dataclass(frozen=True)
class Between(Node):
    low: Expr
    high: Expr


@dataclass(frozen=True)
class KeyTuple(Node):
    items: tuple[Expr, ...]


Expr = (
    Number | String | Boolean | Name | Member | Index | Slice | Unary | Binary | Mux | Cast | Call | ListOf
    | Fields | InvalidHeader | Dots | Anything | Masked | Between | KeyTuple
)  # fmt: skip


# --- types -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BaseType(Node):
    """``bool``, ``error``, ``string``, ``int``, ``void``, ``match_kind``, ``bit``, or ``_``."""

    name: str


@dataclass(frozen=True)
class SizedType(Node):
    """``bit<w>``, ``int<w>``, ``varbit<w>``."""

    name: str
    width: Expr


@dataclass(frozen=True)
class NamedType(Node):
    name: str
    top_level: bool = False


@dataclass(frozen=True)
class Specialized(Node):
    base: NamedType
    args: tuple[Type, ...]


@dataclass(frozen=True)
class StackType(Node):
    element: Type
    size: Expr


@dataclass(frozen=True)
class TupleType(Node):
    items: tuple[Type, ...]


@dataclass(frozen=True)
class ListType(Node):
    item: Type


Type = BaseType | SizedType | NamedType | Specialized | StackType | TupleType | ListType


# --- statements --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign(Node):
    target: Expr
    op: str
    """Empty, or the operator of a compound assignment."""
    value: Expr


@dataclass(frozen=True)
class Do(Node):
    call: Call


@dataclass(frozen=True)
class If(Node):
    condition: Expr
    yes: Statement
    no: Statement | None


@dataclass(frozen=True)
class Block(Node):
    statements: tuple[Statement, ...]
    annotations: Annotations = ()


@dataclass(frozen=True)
class SwitchCase(Node):
    """One label (None is default) and its block; None falls through to the next."""

    label: Expr | None
    body: Block | None


@dataclass(frozen=True)
class Switch(Node):
    subject: Expr
    cases: tuple[SwitchCase, ...]


@dataclass(frozen=True)
class Jump(Node):
    """``exit``, ``break`` or ``continue``."""

    word: str


@dataclass(frozen=True)
class Return(Node):
    value: Expr | None


@dataclass(frozen=True)
class Empty(Node):
    pass


@dataclass(frozen=True)
class For(Node):
    init: tuple[Statement, ...]
    condition: Expr
    update: tuple[Statement, ...]
    body: Statement


@dataclass(frozen=True)
class ForIn(Node):
    type: Type
    name: str
    collection: Expr
    """A Between, or an expression of a stack's or list's type."""
    body: Statement
