"""Match keys and action calls of requests, checked against the P4Info (P4Runtime §9.1.1, §9.1.2).

The specification's general rule for byte strings says OUT_OF_RANGE, its rules for matches and for
action parameters say INVALID_ARGUMENT; the particular rule wins, as it does in BMv2.
"""

from collections.abc import Hashable, Sequence

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent.refusals import invalid_argument, permission_denied
from olafswitch.p4runtime.dataplane import ActionCall, Exact, Key, Lpm, Match, Optional, Range, Ternary
from olafswitch.p4runtime.plain import CallRequest, FieldRequest
from olafswitch.p4runtime.program import ActionInfo, ActionScope, MatchField, MatchKind, TableInfo

Identity = Hashable
"""A key as plain numbers: cheaper to hash and compare than a Key."""


class KeyReader:
    """A reader of the keys of one table (or value set), called ``where`` in messages."""

    def __init__(self, fields: Sequence[MatchField], where: str) -> None:
        self._where = where
        self._fields = fields
        self._places = {
            field.id: (place, field.kind, field.bits, field) for place, field in enumerate(fields)
        }
        self._exact = [place for place, field in enumerate(fields) if field.kind is MatchKind.EXACT]

    def read_key(self, match: Sequence[FieldRequest]) -> tuple[Key, Identity]:
        """Return the key of a request's field matches; a missing field matches everything."""
        key: list[Match] = [None] * len(self._fields)
        identity: list[object] = [None] * len(self._fields)
        for field_id, kind, first, second in match:
            found = self._places.get(field_id)
            if found is None:
                raise invalid_argument(f"{self._where} has no match field {field_id}")
            place, expected, bits, field = found
            if kind is not expected:
                got = kind.name if kind else "no P4Runtime match"
                raise invalid_argument(
                    f"{self._where}: field {field.name} is {expected.name}, the request's is {got}"
                )
            if identity[place] is not None:
                raise invalid_argument(f"{self._where}: field {field.name} is given twice")
            if expected is MatchKind.EXACT and first:
                value = int.from_bytes(first, "big")
                if not value >> bits:
                    key[place] = Exact(value)
                    identity[place] = value
                    continue
            try:
                key[place], identity[place] = _read_match(expected, first, second, bits)
            except ValueError as error:
                raise invalid_argument(f"{self._where}: field {field.name}: {error}") from None
        for place in self._exact:
            if identity[place] is None:
                raise invalid_argument(
                    f"{self._where}: the exact field {self._fields[place].name} is missing"
                )
        return tuple(key), tuple(identity)


def _read_match(kind: MatchKind, first: bytes, second: bytes | int, bits: int) -> tuple[Match, object]:
    value = bytestrings.decode_unsigned(first, bits)
    if kind is MatchKind.EXACT:
        return Exact(value), value
    if kind is MatchKind.OPTIONAL:
        return Optional(value), value
    if kind is MatchKind.LPM:
        assert isinstance(second, int)
        if not 0 < second <= bits:
            raise ValueError(f"prefix length {second} is not in 1…{bits} (leave the field out to match all)")
        if value & ((1 << bits - second) - 1):
            raise ValueError(f"{value:#x}/{second} has bits set beyond its prefix")
        return Lpm(value, second), (value, second)
    assert isinstance(second, bytes)
    other = bytestrings.decode_unsigned(second, bits)
    if kind is MatchKind.TERNARY:
        if other == 0:
            raise ValueError("the mask is zero (leave the field out to match all)")
        if value & ~other:
            raise ValueError(f"{value:#x} has bits set outside its mask {other:#x}")
        return Ternary(value, other), (value, other)
    if value > other:
        raise ValueError(f"the range's low bound {value:#x} is above its high bound {other:#x}")
    if value == 0 and other == (1 << bits) - 1:
        raise ValueError("the range is everything (leave the field out to match all)")
    return Range(value, other), (value, other)


class CallReader:
    """A reader of the action calls that one table allows."""

    def __init__(self, table: TableInfo) -> None:
        self._table = table
        self._parameters = {
            action.id: {
                param.id: (place, param.bits, param.name) for place, param in enumerate(action.params)
            }
            for action in table.actions.values()
        }

    def entry_call(self, request: CallRequest) -> ActionCall:
        """Return the action of an entry, a member or a one-shot."""
        call = self._read_call(request)
        if self._table.scopes[call.action_id] is ActionScope.DEFAULT_ONLY:
            raise permission_denied(f"{self._name_action(call.action_id)} may only be the default action")
        return call

    def default_call(self, request: CallRequest) -> ActionCall:
        call = self._read_call(request)
        if self._table.scopes[call.action_id] is ActionScope.TABLE_ONLY:
            raise permission_denied(f"{self._name_action(call.action_id)} may not be the default action")
        return call

    def _read_call(self, request: CallRequest) -> ActionCall:
        action_id, params = request
        parameters = self._parameters.get(action_id)
        if parameters is None:
            raise invalid_argument(f"table {self._table.name} has no action {action_id:#x}")
        values = [-1] * len(parameters)
        for param_id, string in params:
            found = parameters.get(param_id)
            if found is None:
                raise invalid_argument(f"{self._name_action(action_id)} has no parameter {param_id}")
            place, bits, name = found
            if values[place] >= 0:
                raise invalid_argument(f"{self._name_action(action_id)}: parameter {name} is given twice")
            try:
                values[place] = bytestrings.decode_unsigned(string, bits)
            except ValueError as error:
                raise invalid_argument(f"{self._name_action(action_id)}: parameter {name}: {error}") from None
        if -1 in values:
            missing = self._action_of(action_id).params[values.index(-1)].name
            raise invalid_argument(f"{self._name_action(action_id)}: parameter {missing} is missing")
        return ActionCall(action_id, tuple(values))

    def _action_of(self, action_id: int) -> ActionInfo:
        return self._table.actions[action_id]

    def _name_action(self, action_id: int) -> str:
        return f"table {self._table.name}: action {self._action_of(action_id).name}"
