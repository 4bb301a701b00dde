"""Compare a pushed P4Info with that of the pushed program."""

from typing import Any

from olafswitch.p4runtime.protocol import p4info_pb2

_KINDS = ("tables", "actions", "action_profiles", "counters", "direct_counters", "meters", "direct_meters",
          "registers", "value_sets", "digests")  # fmt: skip


def _info_shape(kind: str, item: Any) -> Any:
    match kind:
        case "tables":
            keys = [(f.id, f.bitwidth, f.match_type) for f in item.match_fields]
            return keys, sorted(ref.id for ref in item.action_refs), item.implementation_id
        case "actions":
            return [(p.id, p.bitwidth) for p in item.params]
        case "value_sets":
            return [(f.id, f.bitwidth, f.match_type) for f in item.match]
        case "direct_counters" | "direct_meters":
            return item.direct_table_id
        case "counters" | "meters" | "registers":
            return item.size
    return None


def find_mismatch(pushed: p4info_pb2.P4Info, own: p4info_pb2.P4Info) -> str:
    """Return a description of the first difference that matters; empty when there is none.

    Actions that no table lists do not matter: no write can name them.
    """
    listed = {ref.id for table in pushed.tables for ref in table.action_refs}
    for kind in _KINDS:
        ours = {item.preamble.id: item for item in getattr(own, kind)}
        for item in getattr(pushed, kind):
            if kind == "actions" and item.preamble.id not in listed:
                continue
            known = ours.get(item.preamble.id)
            what = f"{kind[:-1].replace('_', ' ')} {item.preamble.name} ({item.preamble.id:#010x})"
            if known is None:
                return f"the program has no {what}"
            if _info_shape(kind, known) != _info_shape(kind, item):
                return f"{what} differs from the program's"
    given = {item.preamble.id for item in pushed.tables}
    for item in own.tables:
        if item.preamble.id not in given:
            return f"table {item.preamble.name} ({item.preamble.id:#010x}) is missing"
    return ""
