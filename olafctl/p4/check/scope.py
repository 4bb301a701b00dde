"""What names mean, and where."""

from __future__ import annotations

from dataclasses import dataclass, field

from olafctl.p4 import ir
from olafctl.p4 import types as t
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree


@dataclass(frozen=True)
class TypeName:
    type: t.Type


@dataclass(frozen=True)
class GenericType:
    """A declaration that makes a type of its arguments."""

    declaration: tree.StructLike | tree.ExternObject | tree.BlockType


@dataclass(frozen=True)
class Value:
    """A constant or variable."""

    expr: ir.Expr
    writable: bool = True
    why: str = ""
    """Why it cannot be written."""


@dataclass(frozen=True)
class Functions:
    """Functions of one name, told apart by their number of parameters."""

    overloads: tuple[tree.Function | tree.ExternFunction, ...]


@dataclass(frozen=True)
class ActionName:
    action: ir.Action


@dataclass(frozen=True)
class OpenAction:
    """An action declared outside of any control: each control that uses it has its own."""

    declaration: tree.Action


@dataclass(frozen=True)
class TableName:
    table: ir.Table


@dataclass(frozen=True)
class InstanceName:
    """An extern object, or an instance of a parser or control."""

    instance: ir.Instance | ir.Block


@dataclass(frozen=True)
class BlockName:
    """A parser or control that can be instantiated."""

    declaration: tree.Parser | tree.Control


@dataclass(frozen=True)
class ValueSetName:
    values: ir.ValueSet


Entity = (
    TypeName | GenericType | Value | Functions | ActionName | OpenAction | TableName | InstanceName
    | BlockName | ValueSetName
)  # fmt: skip


@dataclass
class Unit:
    """What is common to the whole program while it is checked."""

    errors: list[str] = field(default_factory=lambda: ["NoError"])
    """By number; the one that says that all is well is 0, whoever declares errors before it."""
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
    """Of instantiations inside each other."""

    def unique(self, name: str) -> str:
        """A name that C++ accepts and nothing else in the program has."""
        self.serial += 1
        clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        return f"{clean}_{self.serial}"


@dataclass
class Frame:
    """The parser, control, action or function whose code is checked, by kind."""

    kind: str
    path: str = ""
    block: ir.Block | None = None
    result: t.Type = t.VOID
    exits: bool = False
    reads_meter: bool = False
    loops: int = 0
    pipe: str = ""
    """For a block of the package: which one."""


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
        """What the name means here, in the innermost scope that has it."""
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
