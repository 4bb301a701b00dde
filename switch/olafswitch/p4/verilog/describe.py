"""Describe a module's tables, counters and registers for a driver."""

import hashlib
import json
import random
from typing import Any

from olafswitch.p4.verilog.tables import LookupEngine
from olafswitch.p4.verilog.values import width_of


def make_hashes(engine: LookupEngine) -> list[int]:
    """Return, for each row bit of each way, the key bits whose parity it is; the same at each build."""
    source = random.Random(f"{engine.table.name} {engine.key_bits} {engine.ways} {engine.row_bits}")
    rows: list[int] = []
    for _ in range(engine.ways):
        way: list[int] = []
        while len(way) < engine.row_bits:
            mask = source.getrandbits(engine.key_bits)
            if _are_independent([*way, mask]) or engine.key_bits < engine.row_bits:
                way.append(mask)
        rows += way
    return rows


def _are_independent(masks: list[int]) -> bool:
    """Return whether no mask is the sum of others, so that all rows are reached evenly."""
    reduced: list[int] = []
    for mask in masks:
        for other in reduced:
            mask = min(mask, mask ^ other)
        if not mask:
            return False
        reduced.append(mask)
    return True


def describe_table(engine: LookupEngine) -> dict[str, Any]:
    """Return a table's or value set's engine, keys, actions, hashes and own entries."""
    keys = [vars(key) | {"mask_low": key.low} for key in engine.keys]
    actions: list[dict[str, Any]] = [{"name": "", "params": []}] if engine.is_value_set else []
    for each in engine.table.actions:
        low, params = 0, []
        for param in reversed(each.action.data):
            bits = width_of(param.type) or 0
            params.append({"name": param.name, "low": low, "bits": bits})
            low += bits
        actions.append({"name": each.action.name, "params": params[::-1]})
    return {
        "name": engine.table.name, "engine": engine.kind, "key_bits": engine.key_bits, "keys": keys,
        "action_low": engine.data_bits, "action_bits": engine.action_bits,
        "entry_bits": engine.entry_bits,
        "actions": actions, "ways": engine.ways, "row_bits": engine.row_bits, "small": engine.small,
        "hashes": [f"{mask:x}" for mask in make_hashes(engine)], "words": engine.words,
        "default": {"action": engine.table.default, "data": list(engine.table.default_data)},
        "entries": [
            {"matches": [{"value": m.value, "mask": m.mask, "high": m.high} for m in each.matches],
             "action": each.action, "data": list(each.data), "priority": each.priority, "const": each.const}
            for each in engine.table.entries
        ],
    }  # fmt: skip


def digest_tables(*described: list[dict[str, Any]]) -> str:
    """Return a digest of the tables in 32 bits, which tells modules apart."""
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:8]
