"""Parser value sets (P4Runtime §9.6)."""

from typing import Any

from olafctl.p4runtime.agent.state.forwarding import Forwarding
from olafctl.p4runtime.agent.state.refusal import Code, Refusal, invalid
from olafctl.p4runtime.agent.state.tables import Undo
from olafctl.p4runtime.agent.write.kept import keep
from olafctl.p4runtime.plain import field_request


def modify(forwarding: Forwarding, message: Any) -> Undo:
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
