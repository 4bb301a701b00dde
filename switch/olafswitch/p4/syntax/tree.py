"""The syntax tree of a P4_16 program: the program as written, before names and types are resolved."""

from __future__ import annotations

from collections.abc import Sequence

from olafswitch.p4.frozen import Frozen
from olafswitch.p4.refuse import Pos


class Node(Frozen):
    pos: Pos


class Annotation(Node):
    """``@name(...)``, or ``@name[...]`` when structured; the body's tokens as (terminal, text) pairs."""

    name: str
    body: tuple[tuple[str, str], ...]
    structured: bool = False


Annotations = tuple[Annotation, ...]


# --- expressions -------------------------------------------------------------------------------------------


class Number(Node):
    value: int
    width: int | None
    signed: bool
    base: int = 10
    """The base of the digits."""


class String(Node):
    value: str


class Boolean(Node):
    value: bool


class Name(Node):
    name: str
    top_level: bool = False
    """Whether it is written with a leading dot."""


class MemberExpression(Node):
    base: Expr
    name: str


class Index(Node):
    base: Expr
    index: Expr


class Slice(Node):
    base: Expr
    high: Expr
    low: Expr
    width: bool = False
    """Whether it is written ``[high +: low]``: a base and a width."""


class Unary(Node):
    op: str
    operand: Expr


class Binary(Node):
    op: str
    left: Expr
    right: Expr


class Mux(Node):
    condition: Expr
    yes: Expr
    no: Expr


class Cast(Node):
    type: Type
    operand: Expr


class Argument(Node):
    """One argument; ``value`` is None for ``_``."""

    name: str | None
    value: Expr | None


class Call(Node):
    callee: Expr | Type
    type_args: tuple[Type, ...]
    args: tuple[Argument, ...] = ()


class ListOf(Node):
    items: tuple[Expr, ...]


class Fields(Node):
    """``{ a = x, b = y }``; ``rest`` when it ends with ``...``."""

    items: tuple[tuple[str, Expr], ...]
    rest: bool


class InvalidHeader(Node):
    """``{#}``"""


class Dots(Node):
    """``...``"""


class Anything(Node):
    """``_`` or ``default`` in a key set."""


class Masked(Node):
    value: Expr
    mask: Expr


class Between(Node):
    low: Expr
    high: Expr


class KeyTuple(Node):
    items: tuple[Expr, ...]


Expr = (
    Number
    | String
    | Boolean
    | Name
    | MemberExpression
    | Index
    | Slice
    | Unary
    | Binary
    | Mux
    | Cast
    | Call
    | ListOf
    | Fields
    | InvalidHeader
    | Dots
    | Anything
    | Masked
    | Between
    | KeyTuple
)


# --- types -------------------------------------------------------------------------------------------------


class BaseType(Node):
    """``bool``, ``error``, ``string``, ``int``, ``void``, ``match_kind``, ``bit``, or ``_``."""

    name: str


class SizedType(Node):
    """``bit<w>``, ``int<w>``, ``varbit<w>``."""

    name: str
    width: Expr


class NamedType(Node):
    name: str
    top_level: bool = False


class Specialized(Node):
    base: NamedType
    args: tuple[Type, ...]


class StackType(Node):
    element: Type
    size: Expr


class TupleType(Node):
    items: tuple[Type, ...] = ()


class ListType(Node):
    item: Type


Type = BaseType | SizedType | NamedType | Specialized | StackType | TupleType | ListType


# --- statements --------------------------------------------------------------------------------------------


class Assign(Node):
    target: Expr
    op: str
    """Empty, or the operator of a compound assignment."""
    value: Expr


class Do(Node):
    call: Call


class If(Node):
    condition: Expr
    yes: Statement
    no: Statement | None = None


class BlockStatement(Node):
    statements: tuple[Statement, ...]
    annotations: Annotations = ()


class SwitchCase(Node):
    """One label (None is default) and its block; None falls through to the next."""

    label: Expr | None
    body: BlockStatement | None


class Switch(Node):
    subject: Expr
    cases: tuple[SwitchCase, ...]


class Jump(Node):
    """``exit``, ``break`` or ``continue``."""

    word: str


class Return(Node):
    value: Expr | None = None


class Empty(Node):
    pass


class For(Node):
    init: tuple[Statement, ...]
    condition: Expr
    update: tuple[Statement, ...]
    body: Statement


class ForIn(Node):
    type: Type
    name: str
    collection: Expr
    """A Between, or an expression of a stack's or list's type."""
    body: Statement


# --- declarations ------------------------------------------------------------------------------------------


class Declared(Node):
    name: str
    annotations: Annotations


class Parameter(Declared):
    direction: str
    """``in``, ``out``, ``inout`` or empty."""
    type: Type
    default: Expr | None = None


class Constant(Declared):
    type: Type
    value: Expr


class Variable(Declared):
    type: Type
    value: Expr | None = None


class Instance(Declared):
    type: Type
    args: tuple[Argument, ...]
    initializer: BlockStatement | None = None


class Field(Declared):
    type: Type


class StructLike(Declared):
    """``kind`` is struct, header or header_union."""

    kind: str
    type_params: tuple[str, ...]
    fields: tuple[Field, ...]


class Enumerator(Declared):
    value: Expr | None = None


class Enumeration(Declared):
    underlying: Type | None
    members: tuple[Enumerator, ...]


class Alias(Declared):
    """``typedef``, or ``type`` when ``distinct``."""

    distinct: bool
    type: Type | StructLike | Enumeration


class Errors(Declared):
    members: tuple[Enumerator, ...]


class MatchKinds(Declared):
    members: tuple[Enumerator, ...]


class Signature(Declared):
    """A function's, method's or constructor's prototype; a constructor has no result."""

    result: Type | None
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]


class ExternFunction(Declared):
    signature: Signature


class ExternObject(Declared):
    type_params: tuple[str, ...]
    methods: tuple[Signature, ...]


class BlockType(Declared):
    """A parser's, control's or package's type; ``kind`` names which."""

    kind: str
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]


class Function(Declared):
    signature: Signature
    body: BlockStatement


class ActionDeclaration(Declared):
    params: tuple[Parameter, ...]
    body: BlockStatement


class KeyElement(Node):
    value: Expr
    match_kind: str
    annotations: Annotations


class ActionRef(Node):
    name: str
    args: tuple[Argument, ...]
    annotations: Annotations


class Entry(Node):
    const: bool
    priority: Expr | None
    keys: Expr
    action: Expr
    annotations: Annotations


class Property(Declared):
    """``value`` is a tuple of KeyElement, ActionRef or Entry, or an expression."""

    const: bool
    value: tuple[KeyElement, ...] | tuple[ActionRef, ...] | tuple[Entry, ...] | Expr


class Table(Declared):
    properties: tuple[Property, ...]


class ValueSet(Declared):
    type: Type
    size: Expr


class SelectCase(Node):
    keys: Expr
    state: str


class Transition(Node):
    """A transition to one state, or by a select over ``subjects``."""

    state: str
    subjects: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]


class StateDeclaration(Declared):
    statements: tuple[Statement, ...]
    transition: Transition | None


class Parser(Declared):
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]
    locals: tuple[Declared, ...]
    states: tuple[StateDeclaration, ...]


class Control(Declared):
    type_params: tuple[str, ...]
    params: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]
    locals: tuple[Declared, ...]
    body: BlockStatement


Statement = (
    Assign
    | Do
    | If
    | BlockStatement
    | Switch
    | Jump
    | Return
    | Empty
    | For
    | ForIn
    | Variable
    | Constant
    | Instance
)
Program = Sequence[Declared]
