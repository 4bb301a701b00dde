"""Fill messages with matches and actions, field by field: this is protobuf's fastest way."""

from collections.abc import Iterable, Sequence
from typing import Any

from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.bytestrings import encode_unsigned
from olafswitch.p4runtime.program import ActionInfo, ProgramInfo, ValueSetInfo


def put_match(message: Any, field_id: int, match: dp.Match) -> None:
    """Fill a FieldMatch; ``match`` is not None, which is expressed by a missing field."""
    message.field_id = field_id
    match match:
        case dp.Exact(value):
            message.exact.value = encode_unsigned(value)
        case dp.Lpm(value, length):
            message.lpm.value, message.lpm.prefix_len = encode_unsigned(value), length
        case dp.Ternary(value, mask):
            message.ternary.value, message.ternary.mask = encode_unsigned(value), encode_unsigned(mask)
        case dp.Range(low, high):
            message.range.low, message.range.high = encode_unsigned(low), encode_unsigned(high)
        case dp.Optional(value):
            message.optional.value = encode_unsigned(value)


def put_value_set(message: Any, value_set: ValueSetInfo, members: Iterable[dp.Key]) -> None:
    """Fill a ValueSetEntry."""
    message.value_set_id = value_set.id
    for key in members:
        added = message.members.add()
        for field, match in zip(value_set.fields, key, strict=True):
            if match is not None:
                put_match(added.match.add(), field.id, match)


def put_call(message: Any, action: ActionInfo, values: Sequence[int]) -> None:
    """Fill an Action with its parameters' values, in the P4Info's order."""
    message.action_id = action.id
    params = message.params
    for param, value in zip(action.params, values, strict=True):
        added = params.add()
        added.param_id = param.id
        added.value = encode_unsigned(value)


def put_action(message: Any, program: ProgramInfo, action: dp.ActionSpec) -> None:
    """Fill a TableAction."""
    match action:
        case dp.ActionCall(action_id, values):
            if action_id in program.actions:
                put_call(message.action, program.actions[action_id], values)
            else:
                message.action.action_id = action_id  # a @hidden action has only an id
        case dp.MemberRef(member_id):
            message.action_profile_member_id = member_id
        case dp.GroupRef(group_id):
            message.action_profile_group_id = group_id
        case one_shot:
            actions = message.action_profile_action_set.action_profile_actions
            for each in one_shot:
                added = actions.add()
                put_call(added.action, program.actions[each.action.action_id], each.action.params)
                added.weight = each.weight
