"""Reads: each request of a batch selects entities, wildcards at every level (P4Runtime §13).

Everything here yields the bytes of ``p4.v1.Entity`` messages.
"""

from collections.abc import Iterator
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import wire
from olafctl.p4runtime.agent import answers, p4data
from olafctl.p4runtime.agent.arrays import indexed
from olafctl.p4runtime.agent.forwarding import Forwarding, ProfileState
from olafctl.p4runtime.agent.read_tables import direct_counters, direct_meters, table_entries
from olafctl.p4runtime.agent.refusal import Code, Refusal, invalid, unimplemented
from olafctl.p4runtime.dataplane import Unsupported
from olafctl.p4runtime.program import Array


def read_entity(forwarding: Forwarding, entity: Any) -> list[bytes]:
    """What one request of a batch selects. Raises Refusal."""
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid("the request has no entity")
    if kind == "extern_entry":
        raise unimplemented("this device has no externs with a control plane of their own")
    try:
        return list(_READERS[kind](forwarding, getattr(entity, kind)))
    except Unsupported as error:
        raise unimplemented(str(error)) from None
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(Code.INTERNAL, f"{error.__class__.__name__}: {error}") from error


def _counters(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    for counter, index in _elements(forwarding.program.counters, request.counter_id, request, "counter"):
        entry = p4runtime_pb2.CounterEntry(counter_id=counter.id)
        entry.index.index = index
        data = forwarding.plane.counter(counter.id, index)
        entry.data.packet_count, entry.data.byte_count = data.packets, data.bytes
        yield p4runtime_pb2.Entity(counter_entry=entry).SerializeToString()


def _meters(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    if request.HasField("counter_data"):
        raise unimplemented("this device does not count packets by meter colour")
    for meter, index in _elements(forwarding.program.meters, request.meter_id, request, "meter"):
        entry = p4runtime_pb2.MeterEntry(meter_id=meter.id)
        entry.index.index = index
        config = forwarding.meters.get((meter.id, index))
        if config is not None:
            entry.config.ParseFromString(answers.meter(config))
        yield p4runtime_pb2.Entity(meter_entry=entry).SerializeToString()


def _registers(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    registers = forwarding.program.registers
    for register, index in _elements(registers, request.register_id, request, "register"):
        entry = p4runtime_pb2.RegisterEntry(register_id=register.id)
        entry.index.index = index
        value = forwarding.plane.register(register.id, index)
        types = forwarding.program.p4info.type_info
        entry.data.CopyFrom(p4data.encode_integer(types, register.type_spec, value))
        yield p4runtime_pb2.Entity(register_entry=entry).SerializeToString()


def _elements(arrays: dict[int, Array], id: int, request: Any, what: str) -> Iterator[tuple[Array, int]]:
    if id:
        array, indices = indexed(arrays, id, request, what)
        yield from ((array, index) for index in indices)
    else:
        yield from ((array, index) for array in arrays.values() for index in range(array.size))


def _members(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    for profile in _profiles(forwarding, request.action_profile_id):
        for member_id, member in profile.members.items():
            if request.member_id in (0, member_id):
                entry = p4runtime_pb2.ActionProfileMember(
                    action_profile_id=profile.profile.id,
                    member_id=member_id,
                    action=answers.call_message(forwarding.program, member.action),
                )
                yield p4runtime_pb2.Entity(action_profile_member=entry).SerializeToString()


def _groups(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    for profile in _profiles(forwarding, request.action_profile_id):
        for group_id, group in profile.groups.items():
            if request.group_id in (0, group_id):
                entry = p4runtime_pb2.ActionProfileGroup(
                    action_profile_id=profile.profile.id, group_id=group_id, max_size=group.max_size
                )
                for member_id, weight in group.members:
                    entry.members.add(member_id=member_id, weight=weight)
                yield p4runtime_pb2.Entity(action_profile_group=entry).SerializeToString()


def _profiles(forwarding: Forwarding, profile_id: int) -> list[ProfileState]:
    if profile_id == 0:
        return list(forwarding.profiles.values())
    if profile_id not in forwarding.profiles:
        raise invalid(f"the program has no action profile {profile_id:#x}")
    return [forwarding.profiles[profile_id]]


def _replication(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    kind = request.WhichOneof("type")
    if kind == "multicast_group_entry":
        kept, field, id = forwarding.multicast_groups, 1, request.multicast_group_entry.multicast_group_id
    elif kind == "clone_session_entry":
        kept, field, id = forwarding.clone_sessions, 2, request.clone_session_entry.session_id
    else:
        raise invalid("the replication engine entry has neither multicast group nor clone session")
    for found_id, found in kept.items():
        if id in (0, found_id):
            yield wire.message(9, wire.message(field, found.message))


def _value_sets(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    if request.value_set_id and request.value_set_id not in forwarding.value_sets:
        raise invalid(f"the program has no value set {request.value_set_id:#x}")
    for id, members in forwarding.value_sets.items():
        if request.value_set_id in (0, id):
            entry = p4runtime_pb2.ValueSetEntry(value_set_id=id)
            for key in members:
                member = entry.members.add()
                for field, match in zip(forwarding.program.value_sets[id].fields, key, strict=True):
                    if match is not None:
                        member.match.append(answers.match_message(field.id, match))
            yield p4runtime_pb2.Entity(value_set_entry=entry).SerializeToString()


def _digests(forwarding: Forwarding, request: Any) -> Iterator[bytes]:
    if request.digest_id and request.digest_id not in forwarding.program.digests:
        raise invalid(f"the program has no digest {request.digest_id:#x}")
    for id, config in forwarding.digests.items():
        if request.digest_id in (0, id):
            entry = p4runtime_pb2.DigestEntry(digest_id=id)
            entry.config.max_timeout_ns = config.max_timeout_ns
            entry.config.max_list_size = config.max_list_size
            entry.config.ack_timeout_ns = config.ack_timeout_ns
            yield p4runtime_pb2.Entity(digest_entry=entry).SerializeToString()


_READERS = {
    "table_entry": table_entries,
    "direct_counter_entry": direct_counters,
    "direct_meter_entry": direct_meters,
    "action_profile_member": _members,
    "action_profile_group": _groups,
    "counter_entry": _counters,
    "meter_entry": _meters,
    "register_entry": _registers,
    "packet_replication_engine_entry": _replication,
    "value_set_entry": _value_sets,
    "digest_entry": _digests,
}
