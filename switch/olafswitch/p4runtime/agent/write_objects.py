"""Writes of everything but table entries: each kind of entity has a few functions, and a table of updates."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found, not_implemented
from olafswitch.p4runtime.agent.state import (
    DigestConfig,
    Forwarding,
    GroupState,
    MemberState,
    ProfileState,
    ReplicaSet,
    TableState,
    Undo,
)
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    GroupRef,
    MemberRef,
    Replica,
    ReplicationLimits,
    WeightedAction,
)
from olafswitch.p4runtime.plain import (
    ActionRequest,
    CallRequest,
    OneShotAction,
    call_request,
    field_request,
)
from olafswitch.p4runtime.program import TableInfo
from olafswitch.p4runtime.protocol import p4runtime_pb2

# Entities of which a device keeps one for each id: how an update changes them, and how it is undone.

INSERT, MODIFY, DELETE = (
    p4runtime_pb2.Update.INSERT,
    p4runtime_pb2.Update.MODIFY,
    p4runtime_pb2.Update.DELETE,
)
Apply = Callable[[Forwarding, Any], Undo]
_T = TypeVar("_T")


def put_value(put: Callable[[_T], None], before: _T, wanted: _T) -> Undo:
    """Put ``wanted`` in place of ``before`` and return the undo."""
    put(wanted)
    return lambda: put(before)


def keep_entity(
    kept: dict[Any, _T], id: Any, wanted: _T | None, change: Callable[[_T | None, _T | None], None]
) -> Undo:
    """Store ``wanted`` under an id (None: remove), after ``change(old, new)`` changed the device."""

    def put(new: _T | None) -> None:
        change(kept.get(id), new)
        if new is None:
            kept.pop(id, None)
        else:
            kept[id] = new

    return put_value(put, kept.get(id), wanted)


def by_id(
    kept_in: Callable[[Forwarding], dict[int, _T]],
    id_of: Callable[[Forwarding, Any], int],
    made_of: Callable[[Forwarding, Any], _T],
    refusals: Callable[[Forwarding, int], tuple[str, str]],
    change: Callable[[Forwarding, int, _T | None], None] = lambda *_: None,
) -> Mapping[int, Apply]:
    """Return the three updates of entities of which a device has one for each id.

    ``id_of`` and ``made_of`` read a message and raise Refusal; ``refusals`` returns the texts for an entity
    that exists already and for one that does not; ``change`` informs the device.
    """

    def apply(type: int, forwarding: Forwarding, message: Any) -> Undo:
        id, kept = id_of(forwarding, message), kept_in(forwarding)
        there, missing = refusals(forwarding, id)
        if type == INSERT and id in kept:
            raise Refusal(Code.ALREADY_EXISTS, there)
        if type != INSERT and id not in kept:
            raise not_found(missing)
        wanted = None if type == DELETE else made_of(forwarding, message)
        return keep_entity(kept, id, wanted, lambda _, new: change(forwarding, id, new))

    return {type: partial(apply, type) for type in (INSERT, MODIFY, DELETE)}


# --- value sets (P4Runtime §9.6)


def modify_value_set(forwarding: Forwarding, message: Any) -> Undo:
    id = message.value_set_id
    if id not in forwarding.value_sets:
        raise invalid_argument(f"the program has no value set {id:#x}")
    value_set = forwarding.program.value_sets[id]
    reader = forwarding.value_set_keys[id]
    if len(message.members) > value_set.size:
        full = f"value set {value_set.name} has room for {value_set.size} members"
        raise Refusal(Code.RESOURCE_EXHAUSTED, full)
    read = [reader.read_key([field_request(each) for each in member.match]) for member in message.members]
    if len({identity for _, identity in read}) != len(read):
        raise Refusal(Code.ALREADY_EXISTS, f"value set {value_set.name}: a member is given twice")

    members = [key for key, _ in read]
    if members == forwarding.value_sets[id]:
        return lambda: None
    return keep_entity(
        forwarding.value_sets, id, members, lambda _, new: forwarding.plane.set_value_set(id, new or [])
    )


# --- digests that are sent, and how (P4Runtime §9.8)


def _read_digest(_: Forwarding, message: Any) -> DigestConfig:
    config = message.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid_argument("a digest's times and list size cannot be negative")
    return DigestConfig(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)


def _digest_id(forwarding: Forwarding, message: Any) -> int:
    if message.digest_id not in forwarding.program.digests:
        raise invalid_argument(f"the program has no digest {message.digest_id:#x}")
    return int(message.digest_id)


def _digest_refusals(forwarding: Forwarding, id: int) -> tuple[str, str]:
    name = forwarding.program.digests[id].name
    return f"digest {name} is enabled already", f"digest {name} is not enabled"


DIGESTS = by_id(lambda forwarding: forwarding.digests, _digest_id, _read_digest, _digest_refusals)


# --- multicast groups and clone sessions (P4Runtime §9.5)


def _set_multicast_group(forwarding: Forwarding, group_id: int, group: ReplicaSet | None) -> None:
    forwarding.plane.set_multicast_group(group_id, group.replicas if group else None)


def _set_session(forwarding: Forwarding, session_id: int, session: ReplicaSet | None) -> None:
    if session is None:
        forwarding.plane.set_clone_session(session_id, None)
    else:
        forwarding.plane.set_clone_session(session_id, session.replicas, session.packet_length)


def _read_session(forwarding: Forwarding, message: Any) -> ReplicaSet:
    if message.class_of_service:
        raise invalid_argument("this device has one class of service, 0")
    if message.packet_length_bytes < 0:
        raise invalid_argument("a packet length cannot be negative")
    return _replica_set(forwarding, message, message.packet_length_bytes)


def _replica_set(forwarding: Forwarding, message: Any, packet_length: int = 0) -> ReplicaSet:
    limits = forwarding.plane.replication
    replicas = []
    for each in message.replicas:
        if each.instance > limits.instance:
            raise invalid_argument(
                f"replica instance {each.instance} is above this device's limit {limits.instance}"
            )
        replicas.append(Replica(_read_port(each, limits), each.instance))
    if len(set(replicas)) != len(replicas):
        raise invalid_argument("two replicas have the same port and instance")
    return ReplicaSet(tuple(replicas), message.SerializeToString(), packet_length)


def _read_port(message: Any, limits: ReplicationLimits) -> int:
    port = int(message.egress_port)
    if message.WhichOneof("port_kind") == "port":
        if not message.port:
            raise invalid_argument("replica port: the value is an empty byte string")
        port = int.from_bytes(message.port, "big")
    if port > limits.port:
        raise invalid_argument(
            f"replica port {bytestrings.show_value(port)} is above this device's limit {limits.port:#x}"
        )
    return port


def _check_within(id: int, most: int, what: str) -> int:
    if not 0 < id <= most:
        raise invalid_argument(f"{what} id {id} is not in 1…{most}")
    return id


def _name_states(what: str, id: int) -> tuple[str, str]:
    return f"{what} {id} exists already", f"{what} {id} does not exist"


MULTICAST_GROUPS = by_id(
    lambda forwarding: forwarding.multicast_groups,
    lambda forwarding, message: _check_within(
        message.multicast_group_id, forwarding.plane.replication.multicast_group, "multicast group"
    ),
    _replica_set,
    lambda _, id: _name_states("multicast group", id),
    _set_multicast_group,
)
SESSIONS = by_id(
    lambda forwarding: forwarding.clone_sessions,
    lambda forwarding, message: _check_within(
        message.session_id, forwarding.plane.replication.clone_session, "clone session"
    ),
    _read_session,
    lambda _, id: _name_states("clone session", id),
    _set_session,
)


# Action profiles and selectors: members, groups and one-shot action sets (P4Runtime §9.2).


def read_action(forwarding: Forwarding, state: TableState, request: ActionRequest) -> ActionSpec:
    """Return the action of a table entry, in the form that the table's implementation needs."""
    table = state.table
    if isinstance(request, tuple):
        if table.profile_id:
            raise invalid_argument(
                f"table {table.name} has an action profile: its entries name a member or group"
            )
        return state.calls.entry_call(request)
    if not table.profile_id:
        raise invalid_argument(f"table {table.name} has no action profile: its entries name an action")
    profile = forwarding.profiles[table.profile_id]
    if isinstance(request, MemberRef):
        if request.member_id not in profile.members:
            raise not_found(f"{profile.profile.name} has no member {request.member_id}")
        return request
    if not profile.profile.with_selector:
        raise invalid_argument(f"{profile.profile.name} has no selector: its entries name a member")
    if isinstance(request, GroupRef):
        if request.group_id not in profile.groups:
            raise not_found(f"{profile.profile.name} has no group {request.group_id}")
        return request
    return _one_shot(profile, state, request)


def count_use(forwarding: Forwarding, table: TableInfo, action: ActionSpec, by: int) -> None:
    """Count a table entry's reference to the profile."""
    if not table.profile_id:
        return
    profile = forwarding.profiles[table.profile_id]
    if isinstance(action, MemberRef):
        profile.members[action.member_id].users += by
    elif isinstance(action, GroupRef):
        profile.groups[action.group_id].users += by
    elif isinstance(action, tuple):
        profile.one_shots += by


def _profile_updates(
    what: str, made_of: Callable[..., Any], change: Callable[..., None]
) -> Mapping[int, Apply]:
    """Return the three updates of a profile's members, or of its groups.

    ``made_of`` reads a message, given the object it replaces, and raises Refusal; ``change`` informs the
    device.
    """

    def apply(type: int, forwarding: Forwarding, message: Any) -> Undo:
        profile = _find_profile(forwarding, message.action_profile_id)
        if what == "group" and not profile.profile.with_selector:
            raise invalid_argument(f"{profile.profile.name} has no selector, so no groups")
        kept, id = getattr(profile, f"{what}s"), getattr(message, f"{what}_id")
        if type == INSERT:
            if id == 0:
                raise invalid_argument(f"a {what}'s id cannot be 0")
            if id in kept:
                raise Refusal(Code.ALREADY_EXISTS, f"{profile.profile.name} already has {what} {id}")
            if profile.one_shots:
                raise invalid_argument(f"{profile.profile.name} is programmed with one-shot action sets")
        elif id not in kept:
            raise not_found(f"{profile.profile.name} has no {what} {id}")
        elif type == DELETE and kept[id].users:
            raise Refusal(Code.FAILED_PRECONDITION, f"{what} {id} is in use")
        wanted = None if type == DELETE else made_of(forwarding, profile, message, kept.get(id))
        return keep_entity(kept, id, wanted, partial(change, forwarding, profile, id))

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
        raise invalid_argument(f"a group's max_size cannot change (it is {old.max_size})")
    if message.max_size < 0:
        raise invalid_argument(f"max_size {message.max_size} is negative")
    if limit and message.max_size > limit:
        raise invalid_argument(f"max_size {message.max_size} is above the selector's limit {limit}")
    return GroupState(_group_members(profile, message), message.max_size, old.users if old else 0)


def _set_profile_group(
    forwarding: Forwarding, profile: ProfileState, id: int, old: GroupState | None, new: GroupState | None
) -> None:
    forwarding.plane.set_group(profile.profile.id, id, new.members if new else None)
    for member_id, _ in new.members if new else ():
        profile.members[member_id].users += 1
    for member_id, _ in old.members if old else ():
        profile.members[member_id].users -= 1


MEMBERS = _profile_updates("member", _made_member, _set_member)
GROUPS = _profile_updates("group", _made_group, _set_profile_group)


def _group_members(profile: ProfileState, message: Any) -> tuple[tuple[int, int], ...]:
    members = tuple((each.member_id, each.weight) for each in message.members)
    if len({member_id for member_id, _ in members}) != len(members):
        raise invalid_argument("a group has the same member twice (its weight repeats it)")
    for each in message.members:
        if each.member_id not in profile.members:
            raise not_found(f"{profile.profile.name} has no member {each.member_id}")
        if each.WhichOneof("watch_kind") is not None:
            raise not_implemented("this device does not watch ports")
    limit = message.max_size or profile.profile.max_group_size
    size = _checked_size(profile, [weight for _, weight in members])
    if limit and size > limit:
        raise Refusal(Code.RESOURCE_EXHAUSTED, f"the group's size {size} is above its limit {limit}")
    return members


def _one_shot(profile: ProfileState, state: TableState, request: Sequence[OneShotAction]) -> ActionSpec:
    if profile.members or profile.groups:
        raise invalid_argument(
            f"{profile.profile.name} has members or groups: it takes no one-shot action sets"
        )
    if any(each.watched for each in request):
        raise not_implemented("this device does not watch ports")
    size = _checked_size(profile, [each.weight for each in request])
    if profile.profile.max_group_size and size > profile.profile.max_group_size:
        raise invalid_argument(f"the action set's size {size} is above {profile.profile.max_group_size}")
    return tuple(WeightedAction(state.calls.entry_call(each.call), each.weight) for each in request)


def _checked_size(profile: ProfileState, weights: Sequence[int]) -> int:
    """Return a group's size, as the selector counts it, after a check of its weights."""
    if any(weight <= 0 for weight in weights):
        raise invalid_argument("a weight must be above 0")
    heaviest = profile.profile.max_member_weight
    if profile.profile.counts_members and heaviest and any(weight > heaviest for weight in weights):
        raise invalid_argument(f"a weight is above the selector's limit {heaviest}")
    return len(weights) if profile.profile.counts_members else sum(weights)


def _member_action(forwarding: Forwarding, profile: ProfileState, message: Any) -> ActionCall:
    if not message.HasField("action"):
        raise invalid_argument("a member needs an action")
    request: CallRequest = call_request(message.action)
    tables = [forwarding.tables[id] for id in profile.profile.table_ids if id in forwarding.tables]
    if not tables:
        raise invalid_argument(f"no table uses {profile.profile.name}")
    return tables[0].calls.entry_call(request)


def _find_profile(forwarding: Forwarding, profile_id: int) -> ProfileState:
    if profile_id not in forwarding.profiles:
        raise invalid_argument(f"the program has no action profile {profile_id:#x}")
    return forwarding.profiles[profile_id]
