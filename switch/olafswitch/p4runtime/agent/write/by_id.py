"""Entities of which a device keeps one for each id: how an update changes them, and how it is undone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent.state.forwarding import DigestConfig, Forwarding, ReplicaSet
from olafswitch.p4runtime.agent.state.refusal import Code, Refusal, invalid, not_found
from olafswitch.p4runtime.agent.state.tables import Undo
from olafswitch.p4runtime.dataplane import Replica, ReplicationLimits
from olafswitch.p4runtime.plain import field_request
from olafswitch.p4runtime.protocol import p4runtime_pb2

INSERT, MODIFY, DELETE = (
    p4runtime_pb2.Update.INSERT,
    p4runtime_pb2.Update.MODIFY,
    p4runtime_pb2.Update.DELETE,
)
Apply = Callable[[Forwarding, Any], Undo]
_T = TypeVar("_T")


def become(put: Callable[[_T], None], before: _T, wanted: _T) -> Undo:
    """Put what is wanted where ``before`` is."""
    put(wanted)
    return lambda: put(before)


def keep(
    kept: dict[Any, _T], id: Any, wanted: _T | None, change: Callable[[_T | None, _T | None], None]
) -> Undo:
    """Keep what is ``wanted`` under an id (None: nothing), after ``change(old, new)`` changed the device."""

    def put(new: _T | None) -> None:
        change(kept.get(id), new)
        if new is None:
            kept.pop(id, None)
        else:
            kept[id] = new

    return become(put, kept.get(id), wanted)


def by_id(
    kept_in: Callable[[Forwarding], dict[int, _T]],
    id_of: Callable[[Forwarding, Any], int],
    made_of: Callable[[Forwarding, Any], _T],
    refusals: Callable[[Forwarding, int], tuple[str, str]],
    change: Callable[[Forwarding, int, _T | None], None] = lambda *_: None,
) -> Mapping[int, Apply]:
    """The three updates of such entities.

    ``id_of`` and ``made_of`` read a message and raise Refusal; ``refusals`` says that an entity is there
    already, and that it is not; ``change`` informs the device.
    """

    def apply(type: int, forwarding: Forwarding, message: Any) -> Undo:
        id, kept = id_of(forwarding, message), kept_in(forwarding)
        there, missing = refusals(forwarding, id)
        if type == INSERT and id in kept:
            raise Refusal(Code.ALREADY_EXISTS, there)
        if type != INSERT and id not in kept:
            raise not_found(missing)
        wanted = None if type == DELETE else made_of(forwarding, message)
        return keep(kept, id, wanted, lambda _, new: change(forwarding, id, new))

    return {type: partial(apply, type) for type in (INSERT, MODIFY, DELETE)}


# --- value sets (P4Runtime §9.6)


def modify_value_set(forwarding: Forwarding, message: Any) -> Undo:
    id = message.value_set_id
    if id not in forwarding.value_sets:
        raise invalid(f"the program has no value set {id:#x}")
    value_set = forwarding.program.value_sets[id]
    reader = forwarding.value_set_keys[id]
    if len(message.members) > value_set.size:
        full = f"value set {value_set.name} has room for {value_set.size} members"
        raise Refusal(Code.RESOURCE_EXHAUSTED, full)
    read = [reader.read([field_request(each) for each in member.match]) for member in message.members]
    if len({identity for _, identity in read}) != len(read):
        raise Refusal(Code.ALREADY_EXISTS, f"value set {value_set.name}: a member is given twice")

    members = [key for key, _ in read]
    if members == forwarding.value_sets[id]:
        return lambda: None
    return keep(
        forwarding.value_sets, id, members, lambda _, new: forwarding.plane.set_value_set(id, new or [])
    )


# --- digests that are sent, and how (P4Runtime §9.8)


def _digest(_: Forwarding, message: Any) -> DigestConfig:
    config = message.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid("a digest's times and list size cannot be negative")
    return DigestConfig(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)


def _digest_id(forwarding: Forwarding, message: Any) -> int:
    if message.digest_id not in forwarding.program.digests:
        raise invalid(f"the program has no digest {message.digest_id:#x}")
    return int(message.digest_id)


def _digest_refusals(forwarding: Forwarding, id: int) -> tuple[str, str]:
    name = forwarding.program.digests[id].name
    return f"digest {name} is enabled already", f"digest {name} is not enabled"


DIGESTS = by_id(lambda forwarding: forwarding.digests, _digest_id, _digest, _digest_refusals)


# --- multicast groups and clone sessions (P4Runtime §9.5)


def _set_group(forwarding: Forwarding, group_id: int, group: ReplicaSet | None) -> None:
    forwarding.plane.set_multicast_group(group_id, group.replicas if group else None)


def _set_session(forwarding: Forwarding, session_id: int, session: ReplicaSet | None) -> None:
    if session is None:
        forwarding.plane.set_clone_session(session_id, None)
    else:
        forwarding.plane.set_clone_session(session_id, session.replicas, session.packet_length)


def _session(forwarding: Forwarding, message: Any) -> ReplicaSet:
    if message.class_of_service:
        raise invalid("this device has one class of service, 0")
    if message.packet_length_bytes < 0:
        raise invalid("a packet length cannot be negative")
    return _replica_set(forwarding, message, message.packet_length_bytes)


def _replica_set(forwarding: Forwarding, message: Any, packet_length: int = 0) -> ReplicaSet:
    limits = forwarding.plane.replication
    replicas = []
    for each in message.replicas:
        if each.instance > limits.instance:
            raise invalid(f"replica instance {each.instance} is above this device's limit {limits.instance}")
        replicas.append(Replica(_port(each, limits), each.instance))
    if len(set(replicas)) != len(replicas):
        raise invalid("two replicas have the same port and instance")
    return ReplicaSet(tuple(replicas), message.SerializeToString(), packet_length)


def _port(message: Any, limits: ReplicationLimits) -> int:
    port = int(message.egress_port)
    if message.WhichOneof("port_kind") == "port":
        if not message.port:
            raise invalid("replica port: the value is an empty byte string")
        port = int.from_bytes(message.port, "big")
    if port > limits.port:
        raise invalid(f"replica port {bytestrings.shown(port)} is above this device's limit {limits.port:#x}")
    return port


def _within(id: int, most: int, what: str) -> int:
    if not 0 < id <= most:
        raise invalid(f"{what} id {id} is not in 1…{most}")
    return id


def _shown(what: str, id: int) -> tuple[str, str]:
    return f"{what} {id} exists already", f"{what} {id} does not exist"


GROUPS = by_id(
    lambda forwarding: forwarding.multicast_groups,
    lambda forwarding, message: _within(
        message.multicast_group_id, forwarding.plane.replication.multicast_group, "multicast group"
    ),
    _replica_set,
    lambda _, id: _shown("multicast group", id),
    _set_group,
)
SESSIONS = by_id(
    lambda forwarding: forwarding.clone_sessions,
    lambda forwarding, message: _within(
        message.session_id, forwarding.plane.replication.clone_session, "clone session"
    ),
    _session,
    lambda _, id: _shown("clone session", id),
    _set_session,
)
