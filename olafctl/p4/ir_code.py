"""Expressions and statements of the checked program; :mod:`olafctl.p4.ir` has the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from olafctl.p4 import types as t
from olafctl.p4.refuse import Pos

if TYPE_CHECKING:
    from olafctl.p4.ir import Action, Block, Function, Instance, Table

# --- expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    """``value``: an int (also of enums, errors and bits as unsigned), a bool or a string."""

    type: t.Type
    value: int | bool | str


@dataclass(frozen=True)
class Local:
    """A variable or parameter; ``name`` is unique in the program."""

    type: t.Type
    name: str


@dataclass(frozen=True)
class Field:
    type: t.Type
    base: Expr
    name: str


@dataclass(frozen=True)
class Element:
    """``stack[index]`` or a tuple's item."""

    type: t.Type
    base: Expr
    index: Expr


@dataclass(frozen=True)
class StackPart:
    """A stack's ``next``, ``last``, ``lastIndex`` or ``nextIndex`` (``part``)."""

    type: t.Type
    base: Expr
    part: str
    pos: Pos


@dataclass(frozen=True)
class Slice:
    type: t.Type
    base: Expr
    high: int
    low: int


@dataclass(frozen=True)
class WindowSlice:
    """``base[start +: width]`` with a start known only at run time."""

    type: t.Type
    base: Expr
    start: Expr


@dataclass(frozen=True)
class Unary:
    type: t.Type
    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    type: t.Type
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Cast:
    type: t.Type
    operand: Expr


@dataclass(frozen=True)
class Mux:
    type: t.Type
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Make:
    """A struct, valid header, tuple or stack from its parts, in order."""

    type: t.Type
    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Default:
    """A type's zero; of a header, the invalid one."""

    type: t.Type


@dataclass(frozen=True)
class IsValid:
    type: t.Type
    base: Expr


@dataclass(frozen=True)
class Arg:
    direction: str
    value: Expr | None
    """None for an ``out`` argument that nobody wants."""
    type: t.Type


@dataclass(frozen=True)
class Call:
    """Of a function or action."""

    type: t.Type
    target: Function | Action
    args: tuple[Arg, ...]


@dataclass(frozen=True)
class Apply:
    """Of a parser or control instance."""

    type: t.Type
    target: Block
    args: tuple[Arg, ...]


@dataclass(frozen=True)
class TableApply:
    """``part`` is what is asked of the result: hit, miss, action_run, or nothing."""

    type: t.Type
    table: Table
    part: str


@dataclass(frozen=True)
class ExternCall:
    """``owner.method`` on an instance, or a free function (no owner)."""

    type: t.Type
    owner: str
    method: str
    instance: Instance | None
    type_args: tuple[t.Type, ...]
    args: tuple[Arg, ...]
    pos: Pos


@dataclass(frozen=True)
class HeaderCall:
    """``setValid``, ``setInvalid``, ``push_front``, ``pop_front`` (with ``count``)."""

    type: t.Type
    method: str
    base: Expr
    count: int
    pos: Pos


Expr = (
    Const | Local | Field | Element | StackPart | Slice | WindowSlice | Unary | Binary | Cast | Mux | Make
    | Default | IsValid | Call | Apply | TableApply | ExternCall | HeaderCall
)  # fmt: skip


# --- statements --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declare:
    local: Local
    value: Expr | None


@dataclass(frozen=True)
class Assign:
    target: Expr
    value: Expr


@dataclass(frozen=True)
class Do:
    call: Expr


@dataclass(frozen=True)
class If:
    condition: Expr
    yes: Statement
    no: Statement | None


@dataclass(frozen=True)
class Body:
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Case:
    labels: tuple[int, ...] | None
    """Values of the subject; None is default."""
    body: Body


@dataclass(frozen=True)
class Switch:
    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Jump:
    """``exit``, ``break``, ``continue``."""

    word: str


@dataclass(frozen=True)
class Return:
    value: Expr | None


@dataclass(frozen=True)
class Loop:
    init: Body
    condition: Expr
    update: Body
    body: Statement


Statement = Declare | Assign | Do | If | Body | Switch | Jump | Return | Loop
