"""The syntax tree of a P4_16 program: the program as written, before names and types are resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olafctl.p4.refuse import Pos


@dataclass(frozen=True)
class Node:
    pos: Pos


@dataclass(frozen=True)
class Annotation(Node):
    """``@name(...)``, or ``@name[...]`` when structured; the body's tokens as (terminal, text) pairs."""

    name: str
    body: tuple[tuple[str, str], ...]
    structured: bool = False


Annotations = tuple[Annotation, ...]


# --- expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Node):
    value: int
    width: int | None
    signed: bool
    base: int = 10
    """That it is written in."""


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


# --- declarations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declared(Node):
    name: str
    annotations: Annotations


@dataclass(frozen=True)
class Parameter(Declared):
    direction: str
    """``in``, ``out``, ``inout`` or empty."""
    type: Type
    default: Expr | None


@dataclass(frozen=True)
class Constant(Declared):
    type: Type
    value: Expr


@dataclass(frozen=True)
class Variable(Declared):
    type: Type
    value: Expr | None


@dataclass(frozen=True)
class Instance(Declared):
    type: Type
    args: tuple[Argument, ...]
    initializer: Block | None


@dataclass(frozen=True)
class Field(Declared):
    type: Type


@dataclass(frozen=True)
class StructLike(Declared):
    """``kind`` is struct, header or header_union."""

    kind: str
    type_params: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Enumerator(Declared):
    value: Expr | None


@dataclass(frozen=True)
class Enumeration(Declared):
    underlying: Type | None
    members: tuple[Enumerator, ...]


@dataclass(frozen=True)
class Alias(Declared):
    """``typedef``, or ``type`` when ``distinct``."""

    distinct: bool
    type: Type | StructLike | Enumeration


@dataclass(frozen=True)
class Errors(Declared):
    members: tuple[Enumerator, ...]


@dataclass(frozen=True)
class MatchKinds(Declared):
    members: tuple[Enumerator, ...]


@dataclass(frozen=True)
class Signature(Declared):
    """A function's, method's or constructor's prototype; a constructor has no result."""

    result: Type | None
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]


@dataclass(frozen=True)
class ExternFunction(Declared):
    signature: Signature


@dataclass(frozen=True)
class ExternObject(Declared):
    type_params: tuple[str, ...]
    methods: tuple[Signature, ...]


@dataclass(frozen=True)
class BlockType(Declared):
    """A parser's, control's or package's type; ``kind`` names which."""

    kind: str
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]


@dataclass(frozen=True)
class Function(Declared):
    signature: Signature
    body: Block


@dataclass(frozen=True)
class Action(Declared):
    params: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True)
class KeyElement(Node):
    value: Expr
    match_kind: str
    annotations: Annotations


@dataclass(frozen=True)
class ActionRef(Node):
    name: str
    args: tuple[Argument, ...]
    annotations: Annotations


@dataclass(frozen=True)
class Entry(Node):
    const: bool
    priority: Expr | None
    keys: Expr
    action: Expr
    annotations: Annotations


@dataclass(frozen=True)
class Property(Declared):
    """``value`` is a tuple of KeyElement, ActionRef or Entry, or an expression."""

    const: bool
    value: tuple[KeyElement, ...] | tuple[ActionRef, ...] | tuple[Entry, ...] | Expr


@dataclass(frozen=True)
class Table(Declared):
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class ValueSet(Declared):
    type: Type
    size: Expr


@dataclass(frozen=True)
class SelectCase(Node):
    keys: Expr
    state: str


@dataclass(frozen=True)
class Transition(Node):
    """To one state, or by a select over ``subjects``."""

    state: str
    subjects: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]


@dataclass(frozen=True)
class State(Declared):
    statements: tuple[Statement, ...]
    transition: Transition | None


@dataclass(frozen=True)
class Parser(Declared):
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]
    locals: tuple[Declared, ...]
    states: tuple[State, ...]


@dataclass(frozen=True)
class Control(Declared):
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]
    locals: tuple[Declared, ...]
    body: Block


Statement = (
    Assign | Do | If | Block | Switch | Jump | Return | Empty | For | ForIn | Variable | Constant | Instance
)  # fmt: skip
Program = Sequence[Declared]
