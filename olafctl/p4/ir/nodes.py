"""The checked program: every expression typed, every name resolved, every type parameter bound.

Parsers and controls appear once per instance. The emitter reads this and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Pos
from olafctl.p4.syntax.tree import Annotations
from olafctl.p4.syntax.tree import Expr as ExprNode

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
    """None for an ``out`` argument written as ``_``."""
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
    """``part`` is the member of the result that is used: hit, miss, action_run, or empty."""

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


# --- declarations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    name: str
    direction: str
    """``in``, ``out``, ``inout``; empty for an action's control plane data."""
    local: Local
    annotations: Annotations = ()
    default: ExprNode | None = None
    """The value of a missing argument, as written."""

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
    """``name`` is its control plane name; ``cpp`` its unique C++ name."""

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
    in_table: bool = False
    """Made in a table's property, not declared."""


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
    """The larger wins, as in P4Runtime; 0 for tables without priorities."""
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
    """Whether any code applies it; other tables are not part of the program."""

    @property
    def match_keys(self) -> list[Key]:
        return [key for key in self.keys if key.kind != "selector"]

    @property
    def attached(self) -> list[Instance]:
        """Its extern objects: profile, direct counter and direct meter."""
        return [each for each in (self.profile, self.counter, self.meter) if each is not None]

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
    pos: Pos


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
    """Its own, and its copies of actions declared outside of controls."""
    tables: list[Table] = field(default_factory=list)
    locals: list[Declaration] = field(default_factory=list)
    """What is declared in it, in order, variables apart."""
    direct: list[Block] = field(default_factory=list)
    """The instances that calls of a type make, such as ``Inner.apply()``; after all others."""
    body: Body = field(default_factory=lambda: Body(()))
    states: list[State] = field(default_factory=list)
    exits: bool = False
    pos: Pos = field(default_factory=lambda: Pos("", 1, 1))


Declaration = Action | Table | Instance | ValueSet | Block


@dataclass(eq=False)
class Program:
    """A pipeline and everything in it, ordered so that each object precedes its users."""

    architecture: str
    """``v1model`` or ``xsa``."""
    parts: Mapping[str, Block]
    """The package's blocks by the architecture's names for them, in the order of its parameters."""
    headers: t.Struct
    metadata: t.Type
    standard: t.Struct
    errors: Sequence[str]
    structs: Sequence[t.Struct]
    functions: Sequence[Function]
    blocks: Sequence[Block]
    instances: Sequence[Instance]
    tables: Sequence[Table]
    value_sets: Sequence[ValueSet]
    annotations: Annotations

    @property
    def package(self) -> tuple[Block, ...]:
        """The package's blocks, in the order of its parameters."""
        return tuple(self.parts.values())
