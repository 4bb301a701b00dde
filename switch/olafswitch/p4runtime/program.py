"""A P4 program as its control plane sees it: the P4Info, indexed by id and by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.dataplane import ActionCall, Exact, Lpm, Optional, P4Info, Range, Ternary
from olafswitch.p4runtime.protocol import p4info_pb2


class MatchKind(Enum):
    """How a key field matches; the values are the P4Info's."""

    EXACT = 2
    LPM = 3
    TERNARY = 4
    RANGE = 5
    OPTIONAL = 6

    @property
    def match(self) -> type[Any]:
        """The class of the values that a field matches, unless it is left out."""
        return _MATCHES[self]


_MATCHES: Mapping[MatchKind, type[Any]] = {
    MatchKind.EXACT: Exact,
    MatchKind.LPM: Lpm,
    MatchKind.TERNARY: Ternary,
    MatchKind.RANGE: Range,
    MatchKind.OPTIONAL: Optional,
}


class ActionScope(Enum):
    """Where a table may use an action; the values are the P4Info's."""

    TABLE_AND_DEFAULT = 0
    TABLE_ONLY = 1
    DEFAULT_ONLY = 2


_ACTION = 0x01  # the first byte of an action's id


class InvalidP4Info(Exception):
    """The P4Info contradicts itself or uses a construct that a switch with plain integers cannot have."""


@dataclass(frozen=True)
class MatchField:
    id: int
    name: str
    kind: MatchKind
    bits: int


@dataclass(frozen=True)
class ParameterInfo:
    id: int
    name: str
    bits: int


@dataclass(frozen=True)
class Named:
    """An object with a preamble in the P4Info."""

    id: int
    name: str
    alias: str


@dataclass(frozen=True)
class ActionInfo(Named):
    params: tuple[ParameterInfo, ...]


@dataclass(frozen=True)
class TableInfo(Named):
    fields: tuple[MatchField, ...]
    actions: Mapping[int, ActionInfo]
    scopes: Mapping[int, ActionScope]
    size: int
    """The number of entries; 0 when the program does not say."""
    const_default_action: int
    """An action id; 0 when the default action may change."""
    initial_default: ActionCall | None
    profile_id: int
    counter_id: int
    """The direct counter's id, or 0."""
    meter_id: int
    """The direct meter's id, or 0."""
    is_const: bool
    idle_timeout: bool

    @cached_property
    def has_priority(self) -> bool:
        """Whether entries are ordered by priority: the key has a ternary, range or optional field."""
        return any(field.kind not in (MatchKind.EXACT, MatchKind.LPM) for field in self.fields)


@dataclass(frozen=True)
class Profile(Named):
    table_ids: tuple[int, ...]
    with_selector: bool
    size: int
    max_group_size: int
    counts_members: bool
    """Whether group sizes are numbers of members, not sums of weights."""
    max_member_weight: int


@dataclass(frozen=True)
class Array(Named):
    """An indirect counter or meter, or (with ``type_spec``) a register."""

    size: int
    type_spec: Any = None


@dataclass(frozen=True)
class ValueSetInfo(Named):
    fields: tuple[MatchField, ...]
    size: int


@dataclass(frozen=True)
class Digest(Named):
    type_spec: Any


_N = TypeVar("_N", bound=Named)


class ProgramInfo:
    """Everything a P4Info declares. Raises InvalidP4Info.

    The ``…_named`` methods take a full name, an alias, or the last part of a full name when only one
    object has it, and raise KeyError with a message that names the choices.
    """

    def __init__(self, p4info: P4Info) -> None:
        self.p4info = p4info
        self.actions = _by_id(_read_action(action) for action in p4info.actions)
        self.profiles = _by_id(_read_profile(profile) for profile in p4info.action_profiles)
        self.counters = _by_id(_read_array(counter) for counter in p4info.counters)
        self.meters = _by_id(_read_array(meter) for meter in p4info.meters)
        self.registers = _by_id(_read_array(register, register.type_spec) for register in p4info.registers)
        self.value_sets = _by_id(_value_set(value_set) for value_set in p4info.value_sets)
        self.digests = _by_id(Digest(*_head_of(digest), digest.type_spec) for digest in p4info.digests)
        self.direct_counters = {
            counter.preamble.id: counter.direct_table_id for counter in p4info.direct_counters
        }
        self.direct_meters = {meter.preamble.id: meter.direct_table_id for meter in p4info.direct_meters}
        self.meter_types: dict[int, int] = {
            meter.preamble.id: meter.spec.type for meter in (*p4info.meters, *p4info.direct_meters)
        }
        self.tables = _by_id(self._read_table(table) for table in p4info.tables)
        self._tables_named: dict[str, TableInfo] = {}
        headers = {meta.preamble.name: meta.metadata for meta in p4info.controller_packet_metadata}
        self.packet_in = tuple(_read_parameter(field, "packet_in") for field in headers.get("packet_in", ()))
        self.packet_out = tuple(
            _read_parameter(field, "packet_out") for field in headers.get("packet_out", ())
        )

    def table_named(self, name: str) -> TableInfo:
        if name not in self._tables_named:
            self._tables_named[name] = _find_named(self.tables.values(), name, "table")
        return self._tables_named[name]

    def counter_named(self, name: str) -> Array:
        return _find_named(self.counters.values(), name, "counter")

    def meter_named(self, name: str) -> Array:
        return _find_named(self.meters.values(), name, "meter")

    def register_named(self, name: str) -> Array:
        return _find_named(self.registers.values(), name, "register")

    def value_set_named(self, name: str) -> ValueSetInfo:
        return _find_named(self.value_sets.values(), name, "value set")

    def digest_named(self, name: str) -> Digest:
        return _find_named(self.digests.values(), name, "digest")

    def _read_table(self, table: Any) -> TableInfo:
        where = f"table {table.preamble.name}"
        if unknown := [hex(ref.id) for ref in table.action_refs if ref.id >> 24 != _ACTION]:
            raise InvalidP4Info(f"{where} refers to {', '.join(unknown)}, not the ids of actions")
        # A P4Info lists the ids of @hidden actions and does not describe them: no write may call one.
        actions = {ref.id: self.actions[ref.id] for ref in table.action_refs if ref.id in self.actions}
        if table.implementation_id and table.implementation_id not in self.profiles:
            raise InvalidP4Info(f"{where} has an unknown implementation")
        return TableInfo(
            *_head_of(table),
            _read_fields(table.match_fields, where),
            actions,
            {ref.id: ActionScope(ref.scope) for ref in table.action_refs},
            table.size,
            table.const_default_action_id,
            self._initial_default(table, where),
            table.implementation_id,
            next((id for id in table.direct_resource_ids if id in self.direct_counters), 0),
            next((id for id in table.direct_resource_ids if id in self.direct_meters), 0),
            table.is_const_table,
            table.idle_timeout_behavior != p4info_pb2.Table.NO_TIMEOUT,
        )

    def _initial_default(self, table: Any, where: str) -> ActionCall | None:
        id = table.initial_default_action.action_id or table.const_default_action_id
        if not id:
            return None
        if id not in self.actions:
            return ActionCall(id, ())
        action = self.actions[id]
        given = {argument.param_id: argument.value for argument in table.initial_default_action.arguments}
        if action.params and not given:
            return None  # older compilers name the action and leave out its arguments
        if set(given) != {param.id for param in action.params}:
            raise InvalidP4Info(f"{where}: the default action's arguments do not match its parameters")
        try:
            values = tuple(
                bytestrings.decode_unsigned(given[param.id], param.bits) for param in action.params
            )
        except ValueError as error:
            raise InvalidP4Info(f"{where}: default action {action.name}: {error}") from None
        return ActionCall(id, values)


def _head_of(described: Any) -> tuple[int, str, str]:
    preamble = described.preamble
    return preamble.id, preamble.name, preamble.alias


def _by_id(objects: Iterable[_N]) -> dict[int, _N]:
    found: dict[int, _N] = {}
    for each in objects:
        if each.id == 0:
            raise InvalidP4Info(f"{each.name or 'an object'} has id 0")
        if each.id in found:
            raise InvalidP4Info(f"{each.name} and {found[each.id].name} have the same id {each.id:#x}")
        found[each.id] = each
    return found


def _find_named(objects: Iterable[_N], name: str, what: str) -> _N:
    choices = list(objects)
    exact = [each for each in choices if name in (each.name, each.alias)]
    close = exact or [each for each in choices if each.name.endswith("." + name)]
    if len(close) == 1:
        return close[0]
    known = ", ".join(sorted(each.alias or each.name for each in close or choices)) or "none"
    raise KeyError(f"{'more than one' if close else 'no'} {what} named {name} (known: {known})")


def _read_bits(width: int, where: str) -> int:
    if width <= 0:
        raise InvalidP4Info(f"{where} has no bit width (string values are not supported)")
    return width


def _read_fields(fields: Any, where: str) -> tuple[MatchField, ...]:
    known = {kind.value for kind in MatchKind}
    found = []
    for field in fields:
        if field.match_type not in known:
            raise InvalidP4Info(f"{where}, field {field.name}: match kind is not one of P4Runtime's")
        bits = _read_bits(field.bitwidth, f"{where}, field {field.name}")
        found.append(MatchField(field.id, field.name, MatchKind(field.match_type), bits))
    if len({field.id for field in found}) != len(found):
        raise InvalidP4Info(f"{where}: two fields have the same id")
    return tuple(found)


def _read_parameter(param: Any, where: str) -> ParameterInfo:
    return ParameterInfo(param.id, param.name, _read_bits(param.bitwidth, f"{where}, {param.name}"))


def _read_action(action: Any) -> ActionInfo:
    params = tuple(_read_parameter(param, f"action {action.preamble.name}") for param in action.params)
    if len({param.id for param in params}) != len(params):
        raise InvalidP4Info(f"action {action.preamble.name}: two parameters have the same id")
    return ActionInfo(*_head_of(action), params)


def _read_profile(profile: Any) -> Profile:
    return Profile(
        *_head_of(profile),
        tuple(profile.table_ids),
        profile.with_selector,
        profile.size,
        profile.max_group_size,
        profile.HasField("sum_of_members"),
        profile.sum_of_members.max_member_weight,
    )


def _read_array(array: Any, type_spec: Any = None) -> Array:
    return Array(*_head_of(array), array.size, type_spec)


def _value_set(value_set: Any) -> ValueSetInfo:
    fields = _read_fields(value_set.match, f"value set {value_set.preamble.name}")
    return ValueSetInfo(*_head_of(value_set), fields, value_set.size)
