"""Multicast groups and clone sessions (P4Runtime §9.5)."""

from collections.abc import Callable
from typing import Any

from olafctl.p4runtime import bytestrings
from olafctl.p4runtime.agent.state.forwarding import Forwarding, ReplicaSet
from olafctl.p4runtime.agent.state.refusal import Code, Refusal, invalid, not_found
from olafctl.p4runtime.agent.state.tables import Undo
from olafctl.p4runtime.dataplane import Replica, ReplicationLimits


def insert_group(forwarding: Forwarding, message: Any) -> Undo:
    group_id = _group_id(forwarding, message)
    if group_id in forwarding.multicast_groups:
        raise Refusal(Code.ALREADY_EXISTS, f"multicast group {group_id} exists already")
    return _put_group(forwarding, group_id, _replica_set(forwarding, message))


def modify_group(forwarding: Forwarding, message: Any) -> Undo:
    return _put_group(forwarding, _existing_group(forwarding, message), _replica_set(forwarding, message))


def delete_group(forwarding: Forwarding, message: Any) -> Undo:
    return _put_group(forwarding, _existing_group(forwarding, message), None)


def insert_session(forwarding: Forwarding, message: Any) -> Undo:
    session_id = _session_id(forwarding, message)
    if session_id in forwarding.clone_sessions:
        raise Refusal(Code.ALREADY_EXISTS, f"clone session {session_id} exists already")
    return _put_session(forwarding, session_id, _session(forwarding, message))


def modify_session(forwarding: Forwarding, message: Any) -> Undo:
    return _put_session(forwarding, _existing_session(forwarding, message), _session(forwarding, message))


def delete_session(forwarding: Forwarding, message: Any) -> Undo:
    return _put_session(forwarding, _existing_session(forwarding, message), None)


def _put_group(forwarding: Forwarding, group_id: int, group: ReplicaSet | None) -> Undo:
    def send(new: ReplicaSet | None) -> None:
        forwarding.plane.set_multicast_group(group_id, new.replicas if new else None)

    return _put(forwarding.multicast_groups, group_id, group, send)


def _put_session(forwarding: Forwarding, session_id: int, session: ReplicaSet | None) -> Undo:
    def send(new: ReplicaSet | None) -> None:
        if new is None:
            forwarding.plane.set_clone_session(session_id, None)
        else:
            forwarding.plane.set_clone_session(session_id, new.replicas, new.packet_length)

    return _put(forwarding.clone_sessions, session_id, session, send)


def _put(
    kept: dict[int, ReplicaSet], id: int, wanted: ReplicaSet | None, send: Callable[[ReplicaSet | None], None]
) -> Undo:
    def become(new: ReplicaSet | None) -> None:
        send(new)
        if new is None:
            kept.pop(id, None)
        else:
            kept[id] = new

    before = kept.get(id)
    become(wanted)
    return lambda: become(before)


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


def _group_id(forwarding: Forwarding, message: Any) -> int:
    most = forwarding.plane.replication.multicast_group
    group_id: int = message.multicast_group_id
    if not 0 < group_id <= most:
        raise invalid(f"multicast group id {group_id} is not in 1…{most}")
    return group_id


def _existing_group(forwarding: Forwarding, message: Any) -> int:
    group_id = _group_id(forwarding, message)
    if group_id not in forwarding.multicast_groups:
        raise not_found(f"there is no multicast group {group_id}")
    return group_id


def _session_id(forwarding: Forwarding, message: Any) -> int:
    most = forwarding.plane.replication.clone_session
    session_id: int = message.session_id
    if not 0 < session_id <= most:
        raise invalid(f"clone session id {session_id} is not in 1…{most}")
    return session_id


def _existing_session(forwarding: Forwarding, message: Any) -> int:
    session_id = _session_id(forwarding, message)
    if session_id not in forwarding.clone_sessions:
        raise not_found(f"there is no clone session {session_id}")
    return session_id
