"""The checked program: every expression typed, every name resolved, every generic filled in.

Parsers and controls appear once per instance. The emitter reads this and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from olafctl.p4 import types as t
from olafctl.p4.ir_code import Apply as Apply
from olafctl.p4.ir_code import Arg as Arg
from olafctl.p4.ir_code import Assign as Assign
from olafctl.p4.ir_code import Binary as Binary
from olafctl.p4.ir_code import Body as Body
from olafctl.p4.ir_code import Call as Call
from olafctl.p4.ir_code import Case as Case
from olafctl.p4.ir_code import Cast as Cast
from olafctl.p4.ir_code import Const as Const
from olafctl.p4.ir_code import Declare as Declare
from olafctl.p4.ir_code import Default as Default
from olafctl.p4.ir_code import Do as Do
from olafctl.p4.ir_code import Element as Element
from olafctl.p4.ir_code import Expr as Expr
from olafctl.p4.ir_code import ExternCall as ExternCall
from olafctl.p4.ir_code import Field as Field
from olafctl.p4.ir_code import HeaderCall as HeaderCall
from olafctl.p4.ir_code import If as If
from olafctl.p4.ir_code import IsValid as IsValid
from olafctl.p4.ir_code import Jump as Jump
from olafctl.p4.ir_code import Local as Local
from olafctl.p4.ir_code import Loop as Loop
from olafctl.p4.ir_code import Make as Make
from olafctl.p4.ir_code import Mux as Mux
from olafctl.p4.ir_code import Return as Return
from olafctl.p4.ir_code import Slice as Slice
from olafctl.p4.ir_code import StackPart as StackPart
from olafctl.p4.ir_code import Statement as Statement
from olafctl.p4.ir_code import Switch as Switch
from olafctl.p4.ir_code import TableApply as TableApply
from olafctl.p4.ir_code import Unary as Unary
from olafctl.p4.ir_code import WindowSlice as WindowSlice
from olafctl.p4.refuse import Pos
from olafctl.p4.syntax.tree import Annotations
from olafctl.p4.syntax.tree import Expr as ExprNode

# --- declarations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    name: str
    direction: str
    """``in``, ``out``, ``inout``; empty for an action's control plane data."""
    local: Local
    annotations: Annotations = ()
    default: ExprNode | None = None
    """What stands in for a missing argument, as written."""

    @property
    def type(self) -> t.Type:
        return self.local.type


@dataclass(eq=False)
class Function:
    name: str
    params: Sequence[Parameter]
    result: t.Type
    body: Body
    exits: bool = False


@dataclass(eq=False)
class Action:
    """``name`` is what the control plane calls it; ``cpp`` is unique."""

    name: str
    cpp: str
    params: Sequence[Parameter]
    annotations: Annotations
    body: Body
    pos: Pos
    exits: bool = False
    reads_meter: bool = False


@dataclass(eq=False)
class Instance:
    """An extern object; ``args`` are its constructor's, by name."""

    name: str
    cpp: str
    type: t.Extern
    args: dict[str, Expr]
    annotations: Annotations
    pos: Pos


@dataclass(frozen=True)
class Key:
    value: Expr
    kind: str
    name: str
    annotations: Annotations
    pos: Pos


@dataclass(frozen=True)
class TableAction:
    """An action as a table may call it: its directional arguments are bound."""

    action: Action
    args: tuple[Arg, ...]
    annotations: Annotations
    scope: str
    """``table_only``, ``default_only`` or empty."""
    source: str
    """Its name in the program's text."""


@dataclass(frozen=True)
class Match:
    """One field of an entry: a value with a mask, a range's bounds, or anything (both None)."""

    value: int | None
    mask: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class Entry:
    matches: tuple[Match, ...]
    action: int
    """Index into the table's actions."""
    data: tuple[int, ...]
    priority: int
    """Larger wins, as in P4Runtime; 0 where there is none."""
    const: bool


@dataclass(eq=False)
class Table:
    name: str
    cpp: str
    keys: Sequence[Key]
    actions: Sequence[TableAction]
    default: int
    default_data: tuple[int, ...]
    default_const: bool
    entries: Sequence[Entry]
    entries_const: bool
    size: int
    counter: Instance | None
    meter: Instance | None
    profile: Instance | None
    idle_timeout: bool
    annotations: Annotations
    pos: Pos
    index: int = 0
    """Among the program's tables."""
    applied: bool = False
    """Somewhere; other tables are not part of the program."""

    @property
    def match_keys(self) -> list[Key]:
        return [key for key in self.keys if key.kind != "selector"]

    @property
    def exits(self) -> bool:
        return any(entry.action.exits for entry in self.actions)


@dataclass(frozen=True)
class KeySet:
    """One subject's part of a select case; a value set when ``values`` is one."""

    match: Match | None
    values: ValueSet | None = None


@dataclass(eq=False)
class ValueSet:
    name: str
    cpp: str
    keys: Sequence[Key]
    """One per field of its type."""
    size: int
    annotations: Annotations
    pos: Pos
    index: int = 0


@dataclass(frozen=True)
class SelectCase:
    sets: tuple[KeySet, ...] | ValueSet
    state: str


@dataclass(frozen=True)
class Transition:
    """``state`` when there are no subjects."""

    state: str
    subjects: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]


@dataclass(frozen=True)
class State:
    name: str
    body: Body
    transition: Transition


@dataclass(eq=False)
class Block:
    """An instance of a parser (with states) or of a control (with a body)."""

    kind: str
    name: str
    cpp: str
    params: Sequence[Parameter]
    variables: list[Declare] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    body: Body = field(default_factory=lambda: Body(()))
    states: list[State] = field(default_factory=list)
    exits: bool = False
    pos: Pos = field(default_factory=lambda: Pos("", 1, 1))


@dataclass(eq=False)
class Program:
    """A v1model pipeline and everything in it, in an order in which each precedes its users."""

    headers: t.Struct
    metadata: t.Type
    standard: t.Struct
    errors: Sequence[str]
    structs: Sequence[t.Struct]
    functions: Sequence[Function]
    blocks: Sequence[Block]
    parser: Block
    verify: Block
    ingress: Block
    egress: Block
    compute: Block
    deparser: Block
    instances: Sequence[Instance]
    tables: Sequence[Table]
    value_sets: Sequence[ValueSet]
    annotations: Annotations
