"""Action profiles and selectors: members, groups and one-shot action sets (P4Runtime §9.2)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from olafswitch.p4runtime.agent.state.forwarding import Forwarding, GroupState, MemberState, ProfileState
from olafswitch.p4runtime.agent.state.refusal import Code, Refusal, invalid, not_found, unimplemented
from olafswitch.p4runtime.agent.state.tables import TableState, Undo
from olafswitch.p4runtime.agent.write.by_id import DELETE, INSERT, MODIFY, Apply, keep
from olafswitch.p4runtime.dataplane import ActionCall, ActionSpec, GroupRef, MemberRef, WeightedAction
from olafswitch.p4runtime.plain import ActionRequest, CallRequest, OneShotAction, call_request
from olafswitch.p4runtime.program import Table


def read_action(forwarding: Forwarding, state: TableState, request: ActionRequest) -> ActionSpec:
    """The action of a table entry, of the form that the table's implementation asks for."""
    table = state.table
    if isinstance(request, tuple):
        if table.profile_id:
            raise invalid(f"table {table.name} has an action profile: its entries name a member or group")
        return state.calls.entry_call(request)
    if not table.profile_id:
        raise invalid(f"table {table.name} has no action profile: its entries name an action")
    profile = forwarding.profiles[table.profile_id]
    if isinstance(request, MemberRef):
        if request.member_id not in profile.members:
            raise not_found(f"{profile.profile.name} has no member {request.member_id}")
        return request
    if not profile.profile.with_selector:
        raise invalid(f"{profile.profile.name} has no selector: its entries name a member")
    if isinstance(request, GroupRef):
        if request.group_id not in profile.groups:
            raise not_found(f"{profile.profile.name} has no group {request.group_id}")
        return request
    return _one_shot(profile, state, request)


def use(forwarding: Forwarding, table: Table, action: ActionSpec, by: int) -> None:
    """Count a table entry's pointer into the profile."""
    if not table.profile_id:
        return
    profile = forwarding.profiles[table.profile_id]
    if isinstance(action, MemberRef):
        profile.members[action.member_id].users += by
    elif isinstance(action, GroupRef):
        profile.groups[action.group_id].users += by
    elif isinstance(action, tuple):
        profile.one_shots += by


def _updates(what: str, made_of: Callable[..., Any], change: Callable[..., None]) -> Mapping[int, Apply]:
    """The three updates of a profile's members, or of its groups.

    ``made_of`` reads a message, given what it replaces, and raises Refusal; ``change`` informs the device.
    """

    def apply(type: int, forwarding: Forwarding, message: Any) -> Undo:
        profile = _profile(forwarding, message.action_profile_id)
        if what == "group" and not profile.profile.with_selector:
            raise invalid(f"{profile.profile.name} has no selector, so no groups")
        kept, id = getattr(profile, f"{what}s"), getattr(message, f"{what}_id")
        if type == INSERT:
            if id == 0:
                raise invalid(f"a {what}'s id cannot be 0")
            if id in kept:
                raise Refusal(Code.ALREADY_EXISTS, f"{profile.profile.name} already has {what} {id}")
            if profile.one_shots:
                raise invalid(f"{profile.profile.name} is programmed with one-shot action sets")
        elif id not in kept:
            raise not_found(f"{profile.profile.name} has no {what} {id}")
        elif type == DELETE and kept[id].users:
            raise Refusal(Code.FAILED_PRECONDITION, f"{what} {id} is in use")
        wanted = None if type == DELETE else made_of(forwarding, profile, message, kept.get(id))
        return keep(kept, id, wanted, partial(change, forwarding, profile, id))

    return {type: partial(apply, type) for type in (INSERT, MODIFY, DELETE)}


def _made_member(
    forwarding: Forwarding, profile: ProfileState, message: Any, old: MemberState | None
) -> MemberState:
    action = _member_action(forwarding, profile, message)
    if old is None and profile.profile.size and len(profile.members) >= profile.profile.size:
        full = f"{profile.profile.name} is full: it has {len(profile.members)} members"
        raise Refusal(Code.RESOURCE_EXHAUSTED, full)
    return MemberState(action, old.users if old else 0)


def _set_member(
    forwarding: Forwarding, profile: ProfileState, id: int, _: MemberState | None, new: MemberState | None
) -> None:
    forwarding.plane.set_member(profile.profile.id, id, new.action if new else None)


def _made_group(
    forwarding: Forwarding, profile: ProfileState, message: Any, old: GroupState | None
) -> GroupState:
    limit = profile.profile.max_group_size
    if old and message.max_size != old.max_size:
        raise invalid(f"a group's max_size cannot change (it is {old.max_size})")
    if message.max_size < 0:
        raise invalid(f"max_size {message.max_size} is negative")
    if limit and message.max_size > limit:
        raise invalid(f"max_size {message.max_size} is above the selector's limit {limit}")
    return GroupState(_group_members(profile, message), message.max_size, old.users if old else 0)


def _set_group(
    forwarding: Forwarding, profile: ProfileState, id: int, old: GroupState | None, new: GroupState | None
) -> None:
    forwarding.plane.set_group(profile.profile.id, id, new.members if new else None)
    for member_id, _ in new.members if new else ():
        profile.members[member_id].users += 1
    for member_id, _ in old.members if old else ():
        profile.members[member_id].users -= 1


MEMBERS = _updates("member", _made_member, _set_member)
GROUPS = _updates("group", _made_group, _set_group)


def _group_members(profile: ProfileState, message: Any) -> tuple[tuple[int, int], ...]:
    members = tuple((each.member_id, each.weight) for each in message.members)
    if len({member_id for member_id, _ in members}) != len(members):
        raise invalid("a group has the same member twice (its weight repeats it)")
    for each in message.members:
        if each.member_id not in profile.members:
            raise not_found(f"{profile.profile.name} has no member {each.member_id}")
        if each.WhichOneof("watch_kind") is not None:
            raise unimplemented("this device does not watch ports")
    limit = message.max_size or profile.profile.max_group_size
    size = _checked_size(profile, [weight for _, weight in members])
    if limit and size > limit:
        raise Refusal(Code.RESOURCE_EXHAUSTED, f"the group's size {size} is above its limit {limit}")
    return members


def _one_shot(profile: ProfileState, state: TableState, request: Sequence[OneShotAction]) -> ActionSpec:
    if profile.members or profile.groups:
        raise invalid(f"{profile.profile.name} has members or groups: it takes no one-shot action sets")
    if any(each.watched for each in request):
        raise unimplemented("this device does not watch ports")
    size = _checked_size(profile, [each.weight for each in request])
    if profile.profile.max_group_size and size > profile.profile.max_group_size:
        raise invalid(f"the action set's size {size} is above {profile.profile.max_group_size}")
    return tuple(WeightedAction(state.calls.entry_call(each.call), each.weight) for each in request)


def _checked_size(profile: ProfileState, weights: Sequence[int]) -> int:
    """A group's size, as the selector counts it, once its weights are checked."""
    if any(weight <= 0 for weight in weights):
        raise invalid("a weight must be above 0")
    heaviest = profile.profile.max_member_weight
    if profile.profile.counts_members and heaviest and any(weight > heaviest for weight in weights):
        raise invalid(f"a weight is above the selector's limit {heaviest}")
    return len(weights) if profile.profile.counts_members else sum(weights)


def _member_action(forwarding: Forwarding, profile: ProfileState, message: Any) -> ActionCall:
    if not message.HasField("action"):
        raise invalid("a member needs an action")
    request: CallRequest = call_request(message.action)
    tables = [forwarding.tables[id] for id in profile.profile.table_ids if id in forwarding.tables]
    if not tables:
        raise invalid(f"no table uses {profile.profile.name}")
    return tables[0].calls.entry_call(request)


def _profile(forwarding: Forwarding, profile_id: int) -> ProfileState:
    if profile_id not in forwarding.profiles:
        raise invalid(f"the program has no action profile {profile_id:#x}")
    return forwarding.profiles[profile_id]
