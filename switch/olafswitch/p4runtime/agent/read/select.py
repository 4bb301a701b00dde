"""Reads: each request of a batch selects entities, with wildcards at every level (P4Runtime §13).

A read happens in two steps. Selecting copies what is read and needs the device's lock, so that the answer
shows no write half done (P4Runtime, "Parallelism of Read and Write Requests"). Encoding takes longer, by
far, and needs no lock: other calls are served meanwhile.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from olafswitch.p4runtime.agent.read import encode
from olafswitch.p4runtime.agent.read.encode import Encode
from olafswitch.p4runtime.agent.read.tables import direct_counters, direct_meters, table_entries
from olafswitch.p4runtime.agent.state.arrays import indexed
from olafswitch.p4runtime.agent.state.forwarding import Forwarding, ProfileState
from olafswitch.p4runtime.agent.state.refusal import Code, Refusal, invalid, unimplemented
from olafswitch.p4runtime.dataplane import DeviceRefused, Unsupported
from olafswitch.p4runtime.limits import Budget, TooMany
from olafswitch.p4runtime.program import Array


@dataclass(frozen=True)
class Selection:
    """What one request of a batch selected."""

    encoders: list[Encode]

    def entities(self) -> Iterator[bytes]:
        """Each as the bytes of a ReadResponse."""
        return (encode() for encode in self.encoders)


def select(forwarding: Forwarding, entity: Any, budget: Budget) -> Selection:
    """What a ``p4.v1.Entity`` of a ReadRequest selects. Raises Refusal, TooMany."""
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid("the request has no entity")
    if kind == "extern_entry":
        raise unimplemented("this device has no externs with a control plane of their own")
    encoders: list[Encode] = []
    try:
        for encoder in _SELECT[kind](forwarding, getattr(entity, kind), budget):
            budget.spend(1)
            encoders.append(encoder)
    except Unsupported as error:
        raise unimplemented(str(error)) from None
    except DeviceRefused as error:
        raise Refusal(Code[error.code], str(error)) from None
    except (Refusal, TooMany):
        raise
    except Exception as error:
        raise Refusal(Code.INTERNAL, f"{error.__class__.__name__}: {error}") from error
    return Selection(encoders)


def _counters(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    for counter, index in _elements(forwarding.program.counters, request.counter_id, request, "counter"):
        yield partial(encode.counter_entry, counter.id, index, forwarding.plane.counter(counter.id, index))


def _meters(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.HasField("counter_data"):
        raise unimplemented("this device does not count packets by meter colour")
    for meter, index in _elements(forwarding.program.meters, request.meter_id, request, "meter"):
        yield partial(encode.meter_entry, meter.id, index, forwarding.meters.get((meter.id, index)))


def _registers(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    registers = forwarding.program.registers
    types = forwarding.program.p4info.type_info
    for register, index in _elements(registers, request.register_id, request, "register"):
        value = forwarding.plane.register(register.id, index)
        yield partial(encode.register_entry, types, register, index, value)


def _elements(arrays: dict[int, Array], id: int, request: Any, what: str) -> Iterator[tuple[Array, int]]:
    if id:
        array, indices = indexed(arrays, id, request, what)
        yield from ((array, index) for index in indices)
    else:
        yield from ((array, index) for array in arrays.values() for index in range(array.size))


def _members(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    program = forwarding.program
    for profile in _profiles(forwarding, request.action_profile_id):
        for member_id, member in profile.members.items():
            if request.member_id in (0, member_id):
                yield partial(encode.member, program, profile.profile.id, member_id, member.action)


def _groups(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    for profile in _profiles(forwarding, request.action_profile_id):
        for group_id, group in profile.groups.items():
            if request.group_id in (0, group_id):
                yield partial(encode.group, profile.profile.id, group_id, group.max_size, group.members)


def _profiles(forwarding: Forwarding, profile_id: int) -> list[ProfileState]:
    if profile_id == 0:
        return list(forwarding.profiles.values())
    if profile_id not in forwarding.profiles:
        raise invalid(f"the program has no action profile {profile_id:#x}")
    return [forwarding.profiles[profile_id]]


def _replication(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    kind = request.WhichOneof("type")
    if kind == "multicast_group_entry":
        kept, id = forwarding.multicast_groups, request.multicast_group_entry.multicast_group_id
    elif kind == "clone_session_entry":
        kept, id = forwarding.clone_sessions, request.clone_session_entry.session_id
    else:
        raise invalid("the replication engine entry has neither multicast group nor clone session")
    for found_id, found in kept.items():
        if id in (0, found_id):
            yield partial(encode.replicas, kind, found.message)


def _value_sets(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.value_set_id and request.value_set_id not in forwarding.value_sets:
        raise invalid(f"the program has no value set {request.value_set_id:#x}")
    for id, members in forwarding.value_sets.items():
        if request.value_set_id in (0, id):
            yield partial(encode.value_set, forwarding.program.value_sets[id], members)


def _digests(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.digest_id and request.digest_id not in forwarding.program.digests:
        raise invalid(f"the program has no digest {request.digest_id:#x}")
    for id, config in forwarding.digests.items():
        if request.digest_id in (0, id):
            yield partial(encode.digest, id, config)


_SELECT: Mapping[str, Callable[[Forwarding, Any, Budget], Iterator[Encode]]] = {
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
