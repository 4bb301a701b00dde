"""The checked program: every expression typed, every name resolved, every type parameter bound.

Parsers and controls appear once per instance. The emitter reads this and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from olafswitch.p4.frozen import Frozen
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos
from olafswitch.p4.syntax.tree import Annotations
from olafswitch.p4.syntax.tree import Expr as ExprNode

# --- expressions -------------------------------------------------------------------------------------------


class Expr(Frozen):
    """An expression of a type."""

    type: t.Type


class Const(Expr):
    """``value``: an int (also of enums, errors and bits as unsigned), a bool or a string."""

    value: int | bool | str

    @property
    def member(self) -> str:
        """The name of a member of an enumeration."""
        assert isinstance(self.type, t.Enum)
        return next(name for name, value in self.type.members if value == self.value)


class Local(Expr):
    """A variable or parameter; ``name`` is unique in the program."""

    name: str


class Field(Expr):
    base: Expr
    name: str


class Element(Expr):
    """``stack[index]`` or a tuple's item."""

    base: Expr
    index: Expr


class StackPart(Expr):
    """A stack's ``next``, ``last``, ``lastIndex`` or ``nextIndex`` (``part``)."""

    base: Expr
    part: str
    pos: Pos


class Slice(Expr):
    base: Expr
    high: int
    low: int


class WindowSlice(Expr):
    """``base[start +: width]`` with a start known only at run time."""

    base: Expr
    start: Expr


class Unary(Expr):
    op: str
    operand: Expr


class Binary(Expr):
    op: str
    left: Expr
    right: Expr


class Cast(Expr):
    operand: Expr


class Mux(Expr):
    condition: Expr
    yes: Expr
    no: Expr


class Make(Expr):
    """A struct, valid header, tuple or stack from its parts, in order."""

    parts: tuple[Expr, ...]
    order: tuple[int, ...] = ()
    """The order in which the parts are evaluated, by index, where it differs from theirs."""


class Let(Expr):
    """``value``, after the declarations ``before``: temporaries for operands that must be evaluated first."""

    before: tuple[Declare, ...]
    value: Expr


class Default(Expr):
    """A type's zero; of a header, the invalid one."""


class IsValid(Expr):
    base: Expr


class Arg(Frozen):
    direction: str
    value: Expr | None
    """None for an ``out`` argument written as ``_``."""
    type: t.Type
    turn: int = 0
    """The argument's place as written: arguments are evaluated, and copied back, in that order."""


class Call(Expr):
    """A call of a function or an action."""

    target: Function | Action
    args: tuple[Arg, ...]


class Apply(Expr):
    """An application of a parser or a control."""

    target: Block
    args: tuple[Arg, ...]


class TableApply(Expr):
    """``part`` is the member of the result that is used: hit, miss, action_run, or empty."""

    table: Table
    part: str


class ExternCall(Expr):
    """``owner.method`` on an instance, or a free function (no owner)."""

    owner: str
    method: str
    instance: Instance | None
    type_args: tuple[t.Type, ...]
    args: tuple[Arg, ...]
    pos: Pos

    @property
    def object(self) -> Instance:
        """The instance on which a method is called."""
        assert self.instance is not None
        return self.instance

    def given(self, at: int) -> Expr:
        """Return an argument that cannot be ``_``."""
        value = self.args[at].value
        assert value is not None
        return value


class HeaderCall(Expr):
    """``setValid``, ``setInvalid``, ``push_front``, ``pop_front`` (with ``count``)."""

    method: str
    base: Expr
    count: int
    pos: Pos


# --- statements --------------------------------------------------------------------------------------------


class Statement(Frozen):
    """A part of code that has no value."""


class Declare(Statement):
    local: Local
    value: Expr | None


class Assign(Statement):
    target: Expr
    value: Expr


class Do(Statement):
    call: Expr


class If(Statement):
    condition: Expr
    yes: Statement
    no: Statement | None


class Body(Statement):
    statements: tuple[Statement, ...]
    places: tuple[Pos, ...] = field(default=(), compare=False)
    """The place of each statement that was written."""


class Case(Frozen):
    labels: tuple[int, ...] | None
    """Values of the subject; None is default."""
    body: Body


class Switch(Statement):
    subject: Expr
    cases: tuple[Case, ...]


class Jump(Statement):
    """``exit``, ``break``, ``continue``."""

    word: str


class Return(Statement):
    value: Expr | None


class Loop(Statement):
    init: Body
    condition: Expr
    update: Body
    body: Statement


# --- declarations ------------------------------------------------------------------------------------------


class Parameter(Frozen):
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

    @property
    def data(self) -> list[Parameter]:
        """The parameters that the control plane gives."""
        return [param for param in self.params if not param.direction]


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
    """Whether a table's property makes it, without a declaration."""

    def number(self, name: str) -> int:
        """Return a number among the constructor's arguments."""
        value = self.args[name]
        assert isinstance(value, Const)
        return int(value.value)

    def choice(self, name: str) -> str:
        """Return the member of an enumeration among the constructor's arguments."""
        value = self.args[name]
        assert isinstance(value, Const)
        return value.member


class Key(Frozen):
    value: Expr
    kind: str
    name: str
    annotations: Annotations
    pos: Pos


class TableAction(Frozen):
    """An action as a table may call it: its directional arguments are bound."""

    action: Action
    args: tuple[Arg, ...]
    annotations: Annotations
    scope: str
    """``table_only``, ``default_only`` or empty."""
    source: str
    """The action's name in the program's text."""


class Match(Frozen):
    """One field of an entry: a value with a mask, a range's bounds, or anything (both None)."""

    value: int | None
    mask: int | None = None
    high: int | None = None


class Entry(Frozen):
    matches: tuple[Match, ...]
    action: int
    """Index into the table's actions."""
    data: tuple[int, ...]
    priority: int
    """The larger priority wins, as in P4Runtime; 0 for tables without priorities."""
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
    """The table's place among the program's tables."""
    applied: bool = False
    """Whether any code applies the table; other tables are not part of the program."""

    @property
    def match_keys(self) -> list[Key]:
        return [key for key in self.keys if key.kind != "selector"]

    @property
    def has_selector(self) -> bool:
        """Whether the ``selector`` keys choose a member; in other tables they have no effect."""
        return self.profile is not None and self.profile.type.name == "action_selector"

    @property
    def attached(self) -> list[Instance]:
        """The table's extern objects: profile, direct counter and direct meter."""
        return [each for each in (self.profile, self.counter, self.meter) if each is not None]

    @property
    def exits(self) -> bool:
        return any(entry.action.exits for entry in self.actions)


class KeySet(Frozen):
    """One subject's part of a select case; a value set when ``values`` is one."""

    match: Match | None
    values: ValueSet | None = None


@dataclass(eq=False)
class ValueSet:
    name: str
    cpp: str
    keys: Sequence[Key]
    """The keys, one for each field of the type."""
    size: int
    annotations: Annotations
    pos: Pos
    index: int = 0


class SelectCase(Frozen):
    sets: tuple[KeySet, ...] | ValueSet
    state: str
    pos: Pos


class Transition(Frozen):
    """``state`` when there are no subjects."""

    state: str
    subjects: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]


class State(Frozen):
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
    """The block's own actions, and its copies of actions declared outside of controls."""
    tables: list[Table] = field(default_factory=list)
    locals: list[Declaration] = field(default_factory=list)
    """Declarations in the block, in order, without variables."""
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
    """The package's blocks by their names in the architecture, in the order of its parameters."""
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
