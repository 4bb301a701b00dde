"""Multicast groups and clone sessions (P4Runtime §9.5)."""

from typing import Any

from olafctl.p4runtime import bytestrings
from olafctl.p4runtime.agent.state.forwarding import Forwarding, ReplicaSet
from olafctl.p4runtime.agent.state.refusal import invalid
from olafctl.p4runtime.agent.write.kept import by_id
from olafctl.p4runtime.dataplane import Replica, ReplicationLimits


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


def _refusals(what: str, id: int) -> tuple[str, str]:
    return f"{what} {id} exists already", f"there is no {what} {id}"


GROUPS = by_id(
    lambda forwarding: forwarding.multicast_groups,
    lambda forwarding, message: _within(
        message.multicast_group_id, forwarding.plane.replication.multicast_group, "multicast group"
    ),
    _replica_set,
    lambda _, id: _refusals("multicast group", id),
    _set_group,
)
SESSIONS = by_id(
    lambda forwarding: forwarding.clone_sessions,
    lambda forwarding, message: _within(
        message.session_id, forwarding.plane.replication.clone_session, "clone session"
    ),
    _session,
    lambda _, id: _refusals("clone session", id),
    _set_session,
)
