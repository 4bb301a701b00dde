"""Read numbers, matches and parameters of ``simple_switch_CLI``, and write its entries and actions."""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from olafswitch.p4runtime.dataplane import Key
from olafswitch.p4runtime.entities import (
    Exact,
    Lpm,
    Match,
    MeterConfig,
    Optional,
    Range,
    Replica,
    TableEntry,
    Ternary,
)
from olafswitch.p4runtime.program import ActionInfo, MatchField, MatchKind, Profile, TableInfo, ValueSetInfo

_TOP = (1 << 31) - 1  # at BMv2 the smallest priority wins, in P4Runtime the largest
_T = TypeVar("_T")
WITHOUT_EFFECT = {
    **dict.fromkeys(("set_queue_rate", "set_queue_depth"), "no port has a queue, a frame leaves at once"),
}
_PROFILES = "action profiles are written over P4Runtime"
_FIXED_PORTS = "a switch's ports are those of its -i options"
_HASHES = "a program's hashes are fixed when it is compiled"
REFUSED = {
    **dict.fromkeys((
        f"{stem}_{verb}" for stem in ("act_prof", "table_indirect") for verb in (
            "create_member", "delete_member", "modify_member", "create_group", "delete_group",
            "add_member_to_group", "remove_member_from_group")), _PROFILES),
    **dict.fromkeys((
        "table_indirect_add", "table_indirect_add_with_group", "table_indirect_delete",
        "table_indirect_set_default", "table_indirect_set_default_with_group", "table_indirect_reset_default",
        "table_dump_member", "table_dump_group", "act_prof_dump", "act_prof_dump_member",
        "act_prof_dump_group"), _PROFILES),
    **dict.fromkeys(("port_add", "port_remove", "show_ports"), _FIXED_PORTS),
    **dict.fromkeys(("set_crc16_parameters", "set_crc32_parameters", "set_toeplitz_hash_key"), _HASHES),
    **dict.fromkeys(("get_time_elapsed", "get_time_since_epoch"), "the switch's clock is not read"),
    **dict.fromkeys(("serialize_state", "write_config_to_file"), "the switch's state is read by verbs"),
    "table_set_timeout": "idle timeouts are set over P4Runtime",
    **dict.fromkeys(("load_new_config_file", "swap_configs"), "a program is pushed over P4Runtime"),
    "mc_set_lag_membership": "there are no link aggregation groups",
    "shell": "use a shell",
}  # fmt: skip
"""BMv2's verbs that are not implemented, each with its reason."""


def map_ports(replicas: Iterable[Replica]) -> str:
    return f"port map {sum(1 << replica.egress_port for replica in replicas):b} and lag map "


def parse_rates(words: Sequence[str]) -> MeterConfig:
    """Return the meter's rates from two ``RATE:BURST``, rates per microsecond, committed first."""
    try:
        (cir, cburst), (pir, pburst) = (word.split(":") for word in words)
        return MeterConfig(int(float(cir) * 1e6), int(cburst), int(float(pir) * 1e6), int(pburst))
    except ValueError:
        raise ValueError(f"{' '.join(words)}: two RATE:BURST are needed, rates per microsecond") from None


def describe_action(action: ActionInfo) -> str:
    params = ",\t".join(f"{param.name}({param.bits})" for param in action.params)
    return f"{action.name:30} [{params}]"


def name_kind(table: TableInfo) -> str:
    """Name how BMv2 looks entries up: what any field needs; a header's or an optional value is ternary."""
    kinds = {field.kind for field in table.fields}
    if MatchKind.RANGE in kinds:
        return "range"
    if kinds & {MatchKind.TERNARY, MatchKind.OPTIONAL}:
        return "ternary"
    return "lpm" if MatchKind.LPM in kinds else "exact"


def describe_key(table: TableInfo, entry: TableEntry) -> str:
    matches = ((field, entry.match.get(field.name)) for field in table.fields)
    return "\t".join(
        f"{_name_match(field).upper()}-{_write_match(field, match, ':')}" for field, match in matches
    )


def describe_data(name: str, action: ActionInfo, params: Mapping[str, int]) -> Iterator[str]:
    """Write an action with its parameters' bytes, in BMv2's form."""
    yield f"{'action:':20} {name}"
    data = "\t".join(_write_hex(params[param.name], param.bits, ":") for param in action.params)
    yield f"{'runtime data:':20} {data}"


def _write_hex(value: int, bits: int, between: str = "") -> str:
    return value.to_bytes((bits + 7) // 8, "big").hex(*between)


def describe_call(table: TableInfo, name: str, params: Mapping[str, int]) -> str:
    action = find_table_action(table, name)
    return (
        f"Action entry: {action.name} - {', '.join(f'{params[param.name]:02x}' for param in action.params)}"
    )


def dump_entry(table: TableInfo, entry: TableEntry, handle: int) -> Iterator[str]:
    """Yield an entry's lines as BMv2's command line prints them; priorities count from the first entry."""
    yield f"Dumping entry {handle:#x}"
    yield "Match key:"
    width = max(20, *(len(field.name) for field in table.fields))
    for field in table.fields:
        match = entry.match.get(field.name)
        yield f"* {field.name:{width}}: {_name_match(field).upper():10}{_write_match(field, match)}"
    if table.has_priority:
        yield f"Priority: {_TOP - entry.priority}"
    if entry.action:
        yield describe_call(table, entry.action, entry.params)
    else:
        yield f"Index: {f'member({entry.member})' if entry.member else f'group({entry.group})'}"


def _write_match(field: MatchField, match: Match | int | None, between: str = "") -> str:
    """Write a match as BMv2 prints it; an optional value is ternary there."""
    full = (1 << field.bits) - 1

    def join(mark: str, *values: int) -> str:
        return mark.join(_write_hex(value, field.bits, between) for value in values)

    match match:
        case Exact(value):
            return join("", value)
        case Lpm(value, length):
            return f"{join('', value)}/{length}"
        case Optional(value):
            return join(" &&& ", value, full)
        case Ternary(value, mask):
            return join(" &&& ", value, mask)
        case Range(low, high):
            return join(" -> ", low, high)
    absent: dict[MatchKind, Match] = {MatchKind.LPM: Lpm(0, 0), MatchKind.RANGE: Range(0, full)}
    return _write_match(field, absent.get(field.kind, Ternary(0, 0)), between)


def _name_match(field: MatchField) -> str:
    return "ternary" if field.kind is MatchKind.OPTIONAL else field.kind.name.lower()


def describe_table(table: TableInfo, profile: Profile | None) -> str:
    fields = ",\t".join(f"{field.name}({_name_match(field)}, {field.bits})" for field in table.fields)
    return f"{table.name:30} [implementation={profile.name if profile else None}, mk={fields}]"


def describe_value_set(value_set: ValueSetInfo) -> str:
    return f"{value_set.name:30} [compressed bitwidth:{sum(field.bits for field in value_set.fields)}]"


def parse_member(value_set: ValueSetInfo, word: str) -> Key:
    """Read a member from one number: the values of all fields side by side, the first in the highest bits."""
    left = parse_number(word)
    if left >> (bits := sum(field.bits for field in value_set.fields)):
        raise ValueError(f"{word} does not fit in the {bits} bits of value set {value_set.alias}")
    member: list[Match] = []
    for field in reversed(value_set.fields):
        full = (1 << field.bits) - 1
        value, left = left & full, left >> field.bits
        second = {MatchKind.LPM: (field.bits,), MatchKind.TERNARY: (full,), MatchKind.RANGE: (value,)}
        member.append(field.kind.match(value, *second.get(field.kind, ())))
    return tuple(reversed(member))


def write_member(value_set: ValueSetInfo, member: Key) -> str:
    """Return a member as one number, or field by field where a controller gave it a mask."""
    value = 0
    for field, match in zip(value_set.fields, member, strict=True):
        first = 0 if match is None else next(iter(vars(match).values()))
        value = value << field.bits | first
    if parse_member(value_set, str(value)) == member:
        return _write_hex(value, sum(field.bits for field in value_set.fields))
    return ", ".join(map(_write_match, value_set.fields, member))


def look_up(lookup: Callable[[str], _T], name: str) -> _T:
    try:
        return lookup(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def find_table_action(table: TableInfo, name: str) -> ActionInfo:
    for action in table.actions.values():
        if name in (action.name, action.alias):
            return action
    known = ", ".join(action.alias for action in table.actions.values())
    raise ValueError(f"table {table.alias} has no action {name} (known: {known})")


def parse_params(action: ActionInfo, words: Sequence[str]) -> dict[str, int]:
    if len(words) != len(action.params):
        raise ValueError(f"action {action.alias} takes {len(action.params)} parameters, not {len(words)}")
    return {param.name: parse_number(word) for param, word in zip(action.params, words, strict=True)}


def parse_key(table: TableInfo, words: Sequence[str]) -> dict[str, Match | int]:
    if len(words) != len(table.fields):
        raise ValueError(f"table {table.alias} has {len(table.fields)} key fields, not {len(words)}")
    matches = (
        (field.name, _parse_match(field, word)) for field, word in zip(table.fields, words, strict=True)
    )
    return {name: match for name, match in matches if match is not None}


def _parse_match(field: MatchField, word: str) -> Match | None:
    match field.kind:
        case MatchKind.EXACT:
            return Exact(parse_number(word))
        case MatchKind.LPM:
            value, slash, length = word.partition("/")
            if not slash:
                raise ValueError(f"{field.name} is matched by prefix: write VALUE/LENGTH, not {word}")
            bits = parse_index(length, field.bits + 1)
            return Lpm(parse_number(value) >> field.bits - bits << field.bits - bits, bits)
        case MatchKind.TERNARY | MatchKind.OPTIONAL:
            value, ands, mask = word.partition("&&&")
            if ands and field.kind is MatchKind.TERNARY:
                return Ternary(parse_number(value) & parse_number(mask), parse_number(mask))
            if field.kind is MatchKind.OPTIONAL and (not ands or parse_number(mask) == (1 << field.bits) - 1):
                return Optional(parse_number(value))
            if field.kind is MatchKind.OPTIONAL and not parse_number(mask):
                return None
            masks = "one mask for all bits or none" if ands else "VALUE&&&MASK"
            raise ValueError(f"{field.name} is {field.kind.name.lower()}: write {masks}, not {word}")
        case MatchKind.RANGE:
            low, arrow, high = word.partition("->")
            if not arrow:
                raise ValueError(f"{field.name} is a range: write LOW->HIGH, not {word}")
            bounds = parse_number(low), parse_number(high)
            return None if bounds == (0, (1 << field.bits) - 1) else Range(*bounds)


def parse_number(word: str) -> int:
    """Return the value of a number, an IP address or a MAC address. Raises ValueError for other words."""
    try:
        if word.count(":") == 5 and len(word) <= 17:
            return int.from_bytes(bytes(int(part, 16) for part in word.split(":")), "big")
        if "." in word or ":" in word:
            return int(ipaddress.ip_address(word))
        value = int(word, 0)
    except ValueError:
        raise ValueError(f"{word!r} is not a number, an IP address or a MAC address") from None
    if value < 0:
        raise ValueError(f"{word} is negative")
    return value


def parse_index(word: str, size: int) -> int:
    value = parse_number(word)
    if value >= size:
        raise ValueError(f"{value} is not below {size}")
    return value


def parse_priority(word: str) -> int:
    return max(_TOP - parse_number(word), 1)
