"""What names mean and where they are known; the state that all of a program's checking shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from olafswitch.p4.check.architectures import V1MODEL, Architecture
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree


@dataclass(frozen=True)
class Value:
    """A constant or variable."""

    expr: ir.Expr
    writable: bool = True
    why: str = ""
    """The reason why it cannot be written."""
    base: int = 10
    """The base in which a constant number was written."""


@dataclass(frozen=True)
class Functions:
    """Functions of one name, distinguished by their number of parameters."""

    overloads: tuple[tree.Function | tree.ExternFunction, ...]


Generic = tree.StructLike | tree.ExternObject | tree.BlockType
"""A declaration that makes a type from type arguments."""
Entity = (
    t.Type
    | Generic
    | Value
    | Functions
    | ir.Action
    | tree.ActionDeclaration
    | ir.Table
    | ir.Instance
    | ir.Block
    | tree.Parser
    | tree.Control
    | ir.ValueSet
)
"""The meaning of a name. An action declared outside of any control, and a parser or control that can be
instantiated, are declarations: each control that uses one has its own copy."""


@dataclass(frozen=True)
class OnDemand:
    """What using a name may require first: a constant's value, or the code of a callee.

    Types contain constants and expressions call functions, whose code contains types and expressions again.
    Through these the files on types and expressions use those on functions and blocks without importing
    them. Each raises Refused where the program breaks a rule.
    """

    constant: Callable[[tree.Expr, Scope, str], int]
    """The value of an expression that must be known at compile time; the text names it in a refusal."""
    function: Callable[[tree.Function, tuple[t.Type, ...], Scope, Pos], ir.Function]
    """The function for these type arguments."""
    action: Callable[[tree.ActionDeclaration, Scope, ir.Block], ir.Action]
    """The copy of a top-level action that belongs to the block."""
    block: Callable[[tree.Parser | tree.Control, Scope, Pos], ir.Block]
    """The instance that a direct call, such as ``Inner.apply()``, makes."""


@dataclass
class Unit:
    """The state that the whole program shares while it is checked."""

    on_demand: OnDemand
    architecture: Architecture = V1MODEL
    errors: list[str] = field(default_factory=lambda: ["NoError"])
    """Names by number; NoError is 0 wherever it is declared."""
    declared_errors: set[str] = field(default_factory=set)
    match_kinds: set[str] = field(default_factory=set)
    functions: dict[tuple[int, tuple[t.Type, ...]], ir.Function] = field(default_factory=dict)
    blocks: list[ir.Block] = field(default_factory=list)
    instances: list[ir.Instance] = field(default_factory=list)
    tables: list[ir.Table] = field(default_factory=list)
    value_sets: list[ir.ValueSet] = field(default_factory=list)
    structs: list[t.Struct] = field(default_factory=list)
    serial: int = 0
    depth: int = 0
    """The number of functions and blocks that are being made inside each other."""

    def unique(self, name: str) -> str:
        """Return a valid C++ name that is unique in the program."""
        self.serial += 1
        clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        return f"{clean}_{self.serial}"


@dataclass
class Frame:
    """The parser, control, action or function whose code is being checked."""

    kind: str
    path: str = ""
    block: ir.Block | None = None
    result: t.Type = t.VOID
    exits: bool = False
    loops: int = 0
    pipe: str = ""
    """The part of the package that a block is."""


class Scope:
    """Names, and the scopes around them."""

    def __init__(self, unit: Unit, parent: Scope | None = None, frame: Frame | None = None) -> None:
        self.unit = unit
        self.parent = parent
        self.frame: Frame = frame or (parent.frame if parent else Frame("top"))
        self._names: dict[str, Entity] = {}

    def inner(self, frame: Frame | None = None) -> Scope:
        return Scope(self.unit, self, frame)

    def top(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def find(self, name: str) -> Entity | None:
        """Return the meaning of the name in the innermost scope that declares it; None when no scope does."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._names:
                return scope._names[name]
            scope = scope.parent
        return None

    def here(self, name: str) -> Entity | None:
        return self._names.get(name)

    def declare(self, name: str, entity: Entity, pos: Pos) -> None:
        known = self._names.get(name)
        if isinstance(known, Functions) and isinstance(entity, Functions):
            self._names[name] = Functions(known.overloads + entity.overloads)
            return
        if known is not None:
            raise Refused(pos, name, "declared twice in the same scope")
        self._names[name] = entity

    def look_up(self, name: str, pos: Pos, top_level: bool = False) -> Entity:
        entity = self.top().find(name) if top_level else self.find(name)
        if entity is None:
            raise Refused(pos, name, "not declared")
        return entity
