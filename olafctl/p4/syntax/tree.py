"""The syntax tree of a P4_16 program: what was written, before anything is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olafctl.p4.syntax.tree_code import Annotation as Annotation
from olafctl.p4.syntax.tree_code import Annotations as Annotations
from olafctl.p4.syntax.tree_code import Anything as Anything
from olafctl.p4.syntax.tree_code import Argument as Argument
from olafctl.p4.syntax.tree_code import Assign as Assign
from olafctl.p4.syntax.tree_code import BaseType as BaseType
from olafctl.p4.syntax.tree_code import Between as Between
from olafctl.p4.syntax.tree_code import Binary as Binary
from olafctl.p4.syntax.tree_code import Block as Block
from olafctl.p4.syntax.tree_code import Boolean as Boolean
from olafctl.p4.syntax.tree_code import Call as Call
from olafctl.p4.syntax.tree_code import Cast as Cast
from olafctl.p4.syntax.tree_code import Do as Do
from olafctl.p4.syntax.tree_code import Dots as Dots
from olafctl.p4.syntax.tree_code import Empty as Empty
from olafctl.p4.syntax.tree_code import Expr as Expr
from olafctl.p4.syntax.tree_code import Fields as Fields
from olafctl.p4.syntax.tree_code import For as For
from olafctl.p4.syntax.tree_code import ForIn as ForIn
from olafctl.p4.syntax.tree_code import If as If
from olafctl.p4.syntax.tree_code import Index as Index
from olafctl.p4.syntax.tree_code import InvalidHeader as InvalidHeader
from olafctl.p4.syntax.tree_code import Jump as Jump
from olafctl.p4.syntax.tree_code import KeyTuple as KeyTuple
from olafctl.p4.syntax.tree_code import ListOf as ListOf
from olafctl.p4.syntax.tree_code import ListType as ListType
from olafctl.p4.syntax.tree_code import Masked as Masked
from olafctl.p4.syntax.tree_code import Member as Member
from olafctl.p4.syntax.tree_code import Mux as Mux
from olafctl.p4.syntax.tree_code import Name as Name
from olafctl.p4.syntax.tree_code import NamedType as NamedType
from olafctl.p4.syntax.tree_code import Node as Node
from olafctl.p4.syntax.tree_code import Number as Number
from olafctl.p4.syntax.tree_code import Return as Return
from olafctl.p4.syntax.tree_code import SizedType as SizedType
from olafctl.p4.syntax.tree_code import Slice as Slice
from olafctl.p4.syntax.tree_code import Specialized as Specialized
from olafctl.p4.syntax.tree_code import StackType as StackType
from olafctl.p4.syntax.tree_code import String as String
from olafctl.p4.syntax.tree_code import Switch as Switch
from olafctl.p4.syntax.tree_code import SwitchCase as SwitchCase
from olafctl.p4.syntax.tree_code import TupleType as TupleType
from olafctl.p4.syntax.tree_code import Type as Type
from olafctl.p4.syntax.tree_code import Unary as Unary

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
