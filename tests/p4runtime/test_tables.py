"""Table entries: P4Runtime §9.1, each rule with its code; the state is unchanged when a rule is broken."""

import pytest

from olafswitch.p4runtime.dataplane import ActionCall, Exact, Lpm, MeterConfig, Optional, Range, Ternary
from tests.p4runtime.controller import PlainController, check_codes, parse_entity, parse_update, texts_of
from tests.p4runtime.memory_plane import Address, MemoryPlane

FORWARD = r"""action { action { action_id: 0x01000001
    params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" } } }"""
NO_ACTION = "action { action { action_id: 0x01000002 } }"
MARK = "action { action { action_id: 0x01000003 } }"
ADDRESS = r'match { field_id: 1 exact { value: "\x0a" } }'
PORT = r'match { field_id: 2 exact { value: "\x01" } }'
EXACT = f"table_id: 0x02000001 {ADDRESS} {PORT}"
LPM = r'table_id: 0x02000002 match { field_id: 1 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }'
TERNARY = r"""table_id: 0x02000003 priority: 7
    match { field_id: 1 ternary { value: "\x01\x20" mask: "\x0f\xf0" } }
    match { field_id: 2 range { low: "\x05" high: "\x01\x00" } }
    match { field_id: 3 optional { value: "\x00" } }"""
CONSTANT = r'table_id: 0x02000004 match { field_id: 1 exact { value: "\x01" } }'
PRESET = r'table_id: 0x02000007 match { field_id: 1 exact { value: "\x07" } }'
INVALID, DENIED = "INVALID_ARGUMENT", "PERMISSION_DENIED"
CALL = ActionCall(0x01000001, (2, 3))
KEY = (0x02000001, (Exact(10), Exact(1)), 0)


def _entry(text: str) -> str:
    return f"table_entry {{ {text} }}"


def test_every_kind_of_match_reaches_the_data_plane(primary: PlainController, plane: MemoryPlane) -> None:
    entries = (EXACT, LPM, TERNARY, "table_id: 0x02000003 priority: 1")
    assert primary.write(*(("INSERT", _entry(f"{text} {FORWARD}")) for text in entries)) == ["OK"] * 4
    expected: dict[Address, ActionCall] = {
        KEY: CALL,
        (0x02000002, (Lpm(0x0A000000, 8),), 0): CALL,
        (0x02000003, (Ternary(0x120, 0xFF0), Range(5, 256), Optional(0)), 7): CALL,
        (0x02000003, (None, None, None), 1): CALL,
    }
    assert {key: plane.entries[key] for key in expected} == expected


def test_reads_give_back_what_was_written(primary: PlainController) -> None:
    written = [parse_entity(_entry(f"{text} {FORWARD}")) for text in (EXACT, LPM, TERNARY)]
    written[0].table_entry.metadata = b"\x00\xff"
    written[1].table_entry.controller_metadata = 1 << 63
    for each in written:
        change = parse_update("INSERT", "")
        change.entity.CopyFrom(each)
        assert primary.write(change) == ["OK"]
        assert primary.read(f"table_entry {{ table_id: {each.table_entry.table_id} }}") == [each]


def test_padded_values_are_accepted_and_read_back_canonical(primary: PlainController) -> None:
    padded = EXACT.replace(r"\x0a", r"\x00\x00\x00\x00\x00\x0a").replace(r"\x01", r"\x00\x01")
    assert primary.insert(_entry(f"{padded} {FORWARD}")) == ["OK"]
    assert primary.insert(_entry(f"{EXACT} {FORWARD}")) == ["ALREADY_EXISTS"]
    assert primary.read("table_entry { table_id: 0x02000001 }") == [
        parse_entity(_entry(f"{EXACT} {FORWARD}"))
    ]


def test_modify_and_delete(primary: PlainController, plane: MemoryPlane) -> None:
    assert primary.insert(_entry(f"{EXACT} {FORWARD}")) == ["OK"]
    assert primary.modify(_entry(f'{EXACT} {MARK} metadata: "m"')) == ["OK"]
    assert plane.entries[KEY] == ActionCall(0x01000003, ())
    assert primary.modify(_entry(EXACT)) == ["OK"], "without an action, the action stays"
    assert plane.entries[KEY] == ActionCall(0x01000003, ())
    nonsense = "action { action { action_id: 77 } } meter_config { cir: -1 } idle_timeout_ns: 4"
    assert primary.delete(_entry(f"{EXACT} {nonsense}")) == ["OK"], "only the key counts"
    assert KEY not in plane.entries


def _wrong(text: str, code: str = INVALID, change: str = "INSERT") -> tuple[str, str, str]:
    """Return an update that is refused with ``code``."""
    return change, text, code


WRONG = {
    "unknown table": _wrong(f"table_id: 0x02ffffff {ADDRESS} {FORWARD}"),
    "table id zero": _wrong(f"{ADDRESS} {FORWARD}"),
    "unknown field": _wrong(rf'{EXACT} match {{ field_id: 9 exact {{ value: "\x01" }} }} {FORWARD}'),
    "a field twice": _wrong(f"{EXACT} {PORT} {FORWARD}"),
    "exact field missing": _wrong(f"table_id: 0x02000001 {PORT} {FORWARD}"),
    "wrong match kind": _wrong(LPM.replace("0x02000002", "0x02000001") + PORT + FORWARD),
    "match without a kind": _wrong(f"table_id: 0x02000002 match {{ field_id: 1 }} {FORWARD}"),
    "empty value": _wrong(EXACT.replace(r"\x0a", "") + FORWARD),
    "value too wide": _wrong(EXACT.replace(r"\x01", r"\x02\x00") + FORWARD),
    "prefix length zero": _wrong(LPM.replace("prefix_len: 8", "") + FORWARD),
    "prefix too long": _wrong(LPM.replace("8", "33") + FORWARD),
    "bits beyond the prefix": _wrong(LPM.replace("8", "4") + FORWARD),
    "zero mask": _wrong(TERNARY.replace(r"\x01\x20", r"\x00").replace(r"\x0f\xf0", r"\x00") + FORWARD),
    "value outside its mask": _wrong(TERNARY.replace(r"\x01\x20", r"\x01\x21") + FORWARD),
    "range upside down": _wrong(TERNARY.replace(r"\x05", r"\x01\x01") + FORWARD),
    "range of everything": _wrong(
        TERNARY.replace(r"\x05", r"\x00").replace(r"\x01\x00", r"\xff\xff") + FORWARD
    ),
    "priority missing": _wrong(TERNARY.replace("priority: 7", "") + FORWARD),
    "negative priority": _wrong(TERNARY.replace("7", "-7", 1) + FORWARD),
    "needless priority": _wrong(f"{EXACT} {FORWARD} priority: 1"),
    "no action": _wrong(EXACT),
    "unknown action": _wrong(f"{EXACT} action {{ action {{ action_id: 9 }} }}"),
    "default-only action": _wrong(f"{EXACT} {NO_ACTION}", DENIED),
    "parameter missing": _wrong(EXACT + FORWARD.replace(r'params { param_id: 1 value: "\x02" }', "")),
    "unknown parameter": _wrong(EXACT + FORWARD.replace("param_id: 2", "param_id: 3")),
    "a parameter twice": _wrong(EXACT + FORWARD.replace("param_id: 2", "param_id: 1")),
    "parameter too wide": _wrong(EXACT + FORWARD.replace(r"\x03", r"\x10\x00\x00")),
    "member in a direct table": _wrong(f"{EXACT} action {{ action_profile_member_id: 1 }}"),
    "inserting a default entry": _wrong(f"table_id: 0x02000001 is_default_action: true {FORWARD}"),
    "deleting a default entry": _wrong("table_id: 0x02000001 is_default_action: true", change="DELETE"),
    "inserting without a key": _wrong(f"table_id: 0x02000006 {FORWARD}"),
    "constant entry asked for": _wrong(f"{EXACT} {FORWARD} is_const: true"),
    "idle timeout": _wrong(f"{EXACT} {FORWARD} idle_timeout_ns: 5"),
    "no direct counter": _wrong(f"{LPM} {FORWARD} counter_data {{ }}"),
    "no direct meter": _wrong(f"{LPM} {FORWARD} meter_config {{ }}"),
    "negative counter": _wrong(f"{EXACT} {FORWARD} counter_data {{ packet_count: -1 }}"),
    "meter colours": _wrong(f"{EXACT} {FORWARD} meter_counter_data {{ }}", "UNIMPLEMENTED"),
    "excess burst": _wrong(f"{EXACT} {FORWARD} meter_config {{ eburst: 1 }}"),
    "modifying what is not there": _wrong(f"{EXACT} {FORWARD}", "NOT_FOUND", change="MODIFY"),
    "deleting what is not there": _wrong(EXACT, "NOT_FOUND", change="DELETE"),
    "inserting into a constant table": _wrong(CONSTANT.replace(r"\x01", r"\x03") + FORWARD, DENIED),
    "modifying a constant entry": _wrong(f"{CONSTANT} {FORWARD}", DENIED, change="MODIFY"),
    "deleting a constant entry": _wrong(CONSTANT, DENIED, change="DELETE"),
    "modifying a constant default": _wrong(
        f"table_id: 0x02000002 is_default_action: true {FORWARD}", DENIED, change="MODIFY"
    ),
    "a table-only default": _wrong(
        f"table_id: 0x02000001 is_default_action: true {MARK}", DENIED, change="MODIFY"
    ),
    "a default with a match": _wrong(f"{EXACT} is_default_action: true {FORWARD}", change="MODIFY"),
    "a default with a priority": _wrong(
        f"table_id: 0x02000003 priority: 1 is_default_action: true {FORWARD}", change="MODIFY"
    ),
    "unspecified type": _wrong(f"{EXACT} {FORWARD}", change="UNSPECIFIED"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(
    primary: PlainController, plane: MemoryPlane, name: str
) -> None:
    change, text, code = WRONG[name]
    everything = parse_entity("table_entry { }")
    before = plane.copy_state(), texts_of(primary.read(everything))
    assert primary.write((change, _entry(text))) == [code]
    assert (plane.copy_state(), texts_of(primary.read(everything))) == before


def test_an_update_without_an_entity(primary: PlainController) -> None:
    assert primary.insert("") == [INVALID]
    assert primary.insert("extern_entry { }") == ["UNIMPLEMENTED"]


def test_a_full_table(primary: PlainController, plane: MemoryPlane) -> None:
    routes = [LPM.replace(r"\x0a", rf"\x{each:02x}") + FORWARD for each in range(1, 6)]
    assert primary.write(*(("INSERT", _entry(each)) for each in routes)) == ["OK"] * 4 + [
        "RESOURCE_EXHAUSTED"
    ]
    assert len(primary.read("table_entry { table_id: 0x02000002 }")) == 4
    assert primary.write(("DELETE", _entry(routes[0])), ("INSERT", _entry(routes[4]))) == ["OK", "OK"]


def test_every_update_is_tried_and_reported_in_order(primary: PlainController, plane: MemoryPlane) -> None:
    good, twice = ("INSERT", _entry(f"{EXACT} {FORWARD}")), ("INSERT", _entry(f"{EXACT} {FORWARD}"))
    missing, other = ("DELETE", _entry(LPM)), ("INSERT", _entry(f"{LPM} {FORWARD}"))
    assert primary.write(good, missing, twice, other) == ["OK", "NOT_FOUND", "ALREADY_EXISTS", "OK"]
    assert len(plane.entries) == 5


def test_rollback_takes_everything_back(primary: PlainController, plane: MemoryPlane) -> None:
    kept = f"{TERNARY} {FORWARD}"
    counted = f"{EXACT} {FORWARD} counter_data {{ packet_count: 5 }} meter_config {{ cir: 1 pir: 1 }}"
    assert primary.insert(_entry(kept), _entry(counted)) == ["OK", "OK"]
    before = plane.copy_state(), texts_of(primary.read("table_entry { }"))
    batch = [
        ("INSERT", _entry(f"{LPM} {FORWARD}")),
        ("MODIFY", _entry(f"{TERNARY} {NO_ACTION}")),
        ("MODIFY", _entry(f"{EXACT} {MARK} counter_data {{ packet_count: 9 }}")),
        ("DELETE", _entry(EXACT)),
        ("MODIFY", _entry(f"table_id: 0x02000003 is_default_action: true {FORWARD}")),
        ("DELETE", _entry(CONSTANT)),
        ("DELETE", _entry(PRESET)),
    ]
    rollback = 1
    assert primary.write(*batch, atomicity=rollback) == ["ABORTED"] * 5 + [DENIED, "ABORTED"]
    assert (plane.copy_state(), texts_of(primary.read("table_entry { }"))) == before
    assert primary.write(*batch[:5], atomicity=rollback) == ["OK"] * 5
    assert KEY not in plane.entries


def test_batches_that_the_data_plane_must_see_at_once(primary: PlainController) -> None:
    one, other = ("INSERT", _entry(f"{EXACT} {FORWARD}")), ("INSERT", _entry(f"{LPM} {FORWARD}"))
    assert primary.write(one, other, atomicity=2) == ["UNIMPLEMENTED"]
    assert primary.write(one, atomicity=2) == ["OK"]


def test_the_default_entry(primary: PlainController, plane: MemoryPlane) -> None:
    query = parse_entity("table_entry { table_id: 0x02000001 is_default_action: true }")
    program = parse_entity(_entry(f"table_id: 0x02000001 is_default_action: true {NO_ACTION}"))
    assert primary.read(query) == [program]
    mine = f'table_id: 0x02000001 is_default_action: true metadata: "m" {FORWARD}'
    assert primary.modify(_entry(mine)) == ["OK"]
    assert plane.defaults == {0x02000001: CALL}
    assert primary.read(query) == [parse_entity(_entry(mine))]
    assert primary.modify(_entry("table_id: 0x02000001 is_default_action: true")) == ["OK"]
    assert plane.defaults == {}
    assert primary.read(query) == [program]


def test_defaults_are_read_only_on_request(primary: PlainController) -> None:
    defaults = primary.read("table_entry { is_default_action: true }")
    assert len(defaults) == 7
    assert [each.table_entry.table_id for each in defaults if each.table_entry.is_const] == [0x02000002]
    assert not any(each.table_entry.is_default_action for each in primary.read("table_entry { }"))


def test_declared_entries_are_read_and_only_constant_ones_stay(
    primary: PlainController, plane: MemoryPlane
) -> None:
    constant = primary.read("table_entry { table_id: 0x02000004 }")
    assert [each.table_entry.is_const for each in constant] == [True, True]
    assert constant[0].table_entry.action.action.action_id == 0x01000001
    (preset,) = primary.read("table_entry { table_id: 0x02000007 }")
    assert preset == parse_entity(_entry(f"{PRESET} {NO_ACTION}"))
    assert primary.write(("MODIFY", _entry(f"{PRESET} {FORWARD}")), ("DELETE", _entry(PRESET))) == [
        "OK",
        "OK",
    ]
    assert primary.modify(_entry(f"{CONSTANT} counter_data {{ packet_count: 3 }}")) == ["OK"]
    assert plane.direct_counters[0x02000004, (Exact(1),), 0].packets == 3


def test_reads_select_by_every_filter(primary: PlainController) -> None:
    low = TERNARY.replace("priority: 7", "priority: 3") + FORWARD
    assert (
        primary.insert(
            _entry(f'{EXACT} {FORWARD} metadata: "m"'),
            _entry(EXACT.replace(r"\x0a", r"\x0b") + MARK),
            _entry(f"{TERNARY} {FORWARD} controller_metadata: 6"),
            _entry(low),
        )
        == ["OK"] * 4
    )

    def selected(text: str) -> int:
        return len(primary.read(f"table_entry {{ {text} }}"))

    assert selected("") == 7
    assert selected("table_id: 0x02000001") == 2
    assert selected(EXACT) == 1
    assert selected(f"table_id: 0x02000001 {MARK}") == 1
    assert selected('table_id: 0x02000001 metadata: "m"') == 1
    assert selected("table_id: 0x02000003 controller_metadata: 6") == 1
    assert selected("table_id: 0x02000003 priority: 3") == 1
    assert selected(TERNARY) == 1
    assert selected(TERNARY.replace("priority: 7", "")) == 2
    assert selected(LPM) == 0
    assert primary.read_codes(
        "table_entry { table_id: 5 }",
        "table_entry { priority: 3 }",
        "table_entry { table_id: 0x02000001 }",
        f"table_entry {{ table_id: 0x02000001 {PORT} }}",
        "table_entry { table_id: 0x02000001 action { action_profile_group_id: 1 } }",
        "table_entry { table_id: 0x02000001 time_since_last_hit { } }",
        "",
    ) == [INVALID, INVALID, "OK", INVALID, "UNIMPLEMENTED", INVALID, INVALID]


def test_direct_resources_of_an_entry(primary: PlainController, plane: MemoryPlane) -> None:
    config = "meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 }"
    assert primary.insert(
        _entry(f"{EXACT} {FORWARD} counter_data {{ packet_count: 1 byte_count: 64 }} {config}")
    ) == ["OK"]
    assert plane.direct_meters[KEY] == MeterConfig(1, 2, 3, 4)

    (plain,) = primary.read("table_entry { table_id: 0x02000001 }")
    assert not plain.table_entry.HasField("counter_data")
    assert not plain.table_entry.HasField("meter_config")
    (full,) = primary.read("table_entry { table_id: 0x02000001 counter_data { } meter_config { } }")
    assert full.table_entry.counter_data.byte_count == 64
    assert full.table_entry.meter_config.pburst == 4

    assert primary.modify(_entry(f"{EXACT} {FORWARD}")) == ["OK"]
    assert plane.direct_counters[KEY].packets == 1, "an unset counter stays"
    assert KEY not in plane.direct_meters, "an unset meter goes back to its default"

    direct = f"direct_counter_entry {{ table_entry {{ {EXACT} }} data {{ packet_count: 8 }} }}"
    assert primary.modify(direct) == ["OK"]
    (counter,) = primary.read(f"direct_counter_entry {{ table_entry {{ {EXACT} }} }}")
    assert counter.direct_counter_entry.data.packet_count == 8
    meter = f"direct_meter_entry {{ table_entry {{ {EXACT} }} config {{ cir: 5 pir: 5 }} }}"
    assert primary.modify(meter) == ["OK"]
    assert primary.read(f"direct_meter_entry {{ table_entry {{ {EXACT} }} }}") == [parse_entity(meter)]

    absent = EXACT.replace(r"\x0a", r"\x0b")
    check_codes(
        primary,
        ("INSERT", direct, INVALID),
        ("DELETE", meter, INVALID),
        ("MODIFY", f"direct_counter_entry {{ table_entry {{ {absent} }} data {{ }} }}", "NOT_FOUND"),
        ("MODIFY", "direct_counter_entry { data { } }", INVALID),
        ("MODIFY", f"direct_counter_entry {{ table_entry {{ {LPM} }} data {{ }} }}", INVALID),
    )
    assert primary.read_codes(f"direct_counter_entry {{ table_entry {{ {absent} }} }}") == ["NOT_FOUND"]
    assert len(primary.read("direct_counter_entry { table_entry { } }")) == 3


def test_a_device_that_lacks_a_facility_says_so(primary: PlainController) -> None:
    query = "table_entry { table_id: 0x02000001 is_default_action: true counter_data { } }"
    assert primary.read_codes(query) == ["UNIMPLEMENTED"]
