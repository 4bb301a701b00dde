"""Matches and actions as protobuf bytes, for agent and session alike."""

from collections.abc import Sequence

from olafctl.p4runtime import wire
from olafctl.p4runtime.bytestrings import encode
from olafctl.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    Exact,
    GroupRef,
    Lpm,
    Match,
    MemberRef,
    Optional,
    Range,
    Ternary,
)
from olafctl.p4runtime.program import Action, Program

_OPERANDS = {Exact: 2, Ternary: 3, Lpm: 4, Range: 6, Optional: 7}  # as numbered in FieldMatch


def field_match(field_id: int, match: Match) -> bytes:
    """A FieldMatch; ``match`` is not None, which is expressed by leaving the field out."""
    assert match is not None
    if isinstance(match, Exact | Optional):
        operands = wire.message(1, encode(match.value))
    elif isinstance(match, Lpm):
        operands = wire.message(1, encode(match.value)) + wire.number(2, match.prefix_len)
    elif isinstance(match, Ternary):
        operands = wire.message(1, encode(match.value)) + wire.message(2, encode(match.mask))
    else:
        operands = wire.message(1, encode(match.low)) + wire.message(2, encode(match.high))
    return wire.number(1, field_id) + wire.message(_OPERANDS[type(match)], operands)


def action_call(action: Action, values: Sequence[int]) -> bytes:
    """An Action with its parameters' values, in the P4Info's order."""
    return wire.number(1, action.id) + b"".join(
        wire.message(4, wire.number(2, param.id) + wire.message(3, encode(value)))
        for param, value in zip(action.params, values, strict=True)
    )


def table_action(program: Program, action: ActionSpec) -> bytes:
    """A TableAction."""
    if isinstance(action, ActionCall):
        return wire.message(1, action_call(program.actions[action.action_id], action.params))
    if isinstance(action, MemberRef):
        return wire.number(2, action.member_id)
    if isinstance(action, GroupRef):
        return wire.number(3, action.group_id)
    actions = (
        wire.message(
            1,
            wire.message(1, action_call(program.actions[each.action.action_id], each.action.params))
            + wire.number(2, each.weight),
        )
        for each in action
    )
    return wire.message(4, b"".join(actions))
