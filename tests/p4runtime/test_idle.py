"""Idle timeouts: P4Runtime §9.1.8, and the notifications that follow from them."""

import time

import grpc
import pytest

from olafswitch.p4runtime.agent.state import SHORTEST_NS
from olafswitch.p4runtime.dataplane import Key, P4Info, Range, Ternary
from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime import messages
from tests.p4runtime.controller import SECONDS, PlainController, parse_entity, parse_update, texts_of
from tests.p4runtime.memory_plane import MemoryPlane

TABLE = 0x02000003
ACTION = "action { action { action_id: 0x01000002 } }"
HOUR = 3600 * 10**9
INVALID = "INVALID_ARGUMENT"


def _text(value: int, ttl: int = HOUR, more: str = ACTION) -> str:
    match = rf'match {{ field_id: 1 ternary {{ value: "\x{value:02x}" mask: "\xff" }} }}'
    time = f"idle_timeout_ns: {ttl}" if ttl else ""
    return f"table_entry {{ table_id: {TABLE} {match} priority: 7 {time} {more} }}"


def _address(value: int) -> tuple[int, Key, int]:
    return TABLE, (Ternary(value, 0xFF), None, None), 7


def test_the_time_to_live_is_read_as_it_was_written(primary: PlainController) -> None:
    assert primary.insert(_text(1)) == ["OK"]
    everything = parse_entity(f"table_entry {{ table_id: {TABLE} }}")
    assert primary.read(everything) == [parse_entity(_text(1))]
    assert primary.modify(_text(1, ttl=5 * HOUR)) == ["OK"]
    assert primary.read(everything) == [parse_entity(_text(1, ttl=5 * HOUR))]
    assert primary.modify(_text(1, ttl=0)) == ["OK"]
    assert primary.read(everything) == [parse_entity(_text(1, ttl=0))]


def test_the_time_since_the_last_hit_is_read_on_request(primary: PlainController, plane: MemoryPlane) -> None:
    assert primary.insert(_text(1, 0), _text(2)) == ["OK", "OK"]
    plane.idle = {_address(2): 77}
    read = primary.read(f"table_entry {{ table_id: {TABLE} time_since_last_hit {{ }} }}")
    assert texts_of(read) == texts_of(
        [
            parse_entity(_text(1, 0, f"{ACTION} time_since_last_hit {{ }}")),
            parse_entity(_text(2, HOUR, f"{ACTION} time_since_last_hit {{ elapsed_ns: 77 }}")),
        ]
    )
    of_all_tables = primary.read("table_entry { time_since_last_hit { } }")
    timed = {
        each.table_entry.table_id
        for each in of_all_tables
        if each.table_entry.HasField("time_since_last_hit")
    }
    assert timed == {TABLE}
    assert primary.read_codes("table_entry { table_id: 0x02000001 time_since_last_hit { } }") == [INVALID]


def test_what_idle_timeouts_do_not_go_with(primary: PlainController, plane: MemoryPlane) -> None:
    default = f"table_entry {{ table_id: {TABLE} is_default_action: true idle_timeout_ns: 1 {ACTION} }}"
    before = plane.copy_state()
    assert primary.modify(default) == [INVALID]
    assert primary.insert(_text(1, -1)) == [INVALID]
    assert primary.insert(_text(1, 1, f"{ACTION} time_since_last_hit {{ }}")) == [INVALID]
    assert primary.insert(_text(2)) == ["OK"]
    before = plane.copy_state()
    for change in ("MODIFY", "DELETE"):
        assert primary.write((change, _text(2, more="time_since_last_hit { }"))) == [INVALID]
    plane.idle = None
    assert primary.insert(_text(1)) == ["UNIMPLEMENTED"]
    assert plane.copy_state() == before
    assert primary.insert(_text(1, 0)) == ["OK"]


def test_refusals_have_the_words_of_bmv2(primary: PlainController) -> None:
    """Public test suites compare the words."""
    untimed, hit, default = (parse_update("INSERT", messages.ENTRY) for _ in range(3))
    untimed.entity.table_entry.idle_timeout_ns = 5
    hit.entity.table_entry.time_since_last_hit.elapsed_ns = 5
    default.CopyFrom(parse_update("MODIFY", f"table_entry {{ table_id: {TABLE} is_default_action: true }}"))
    default.entity.table_entry.time_since_last_hit.elapsed_ns = 5
    request = p4runtime_pb2.WriteRequest(device_id=1, updates=[untimed, hit, default])
    request.election_id.low = 10
    with pytest.raises(grpc.RpcError) as refused:
        primary.stub.Write(request, timeout=SECONDS)
    details = dict(refused.value.trailing_metadata())["grpc-status-details-bin"]
    no_timeout = b"idle_timeout_ns must be set to 0 for tables which do not support idle timeout"
    assert details.count(no_timeout) == 1
    assert details.count(b"has_time_since_last_hit must not be set in WriteRequest") == 2


def test_an_entry_that_is_not_hit_is_notified_again_and_again(
    primary: PlainController, plane: MemoryPlane
) -> None:
    hit, idle = _text(1, 1), _text(2, 1, f'{ACTION} metadata: "m" controller_metadata: 9')
    lasting = _text(3)
    changes = [("INSERT", text) for text in (hit, idle, lasting)]
    plane.idle = {_address(2): HOUR, _address(3): HOUR // 2}
    begun = time.monotonic_ns()
    assert primary.write(*changes) == ["OK"] * 3
    named = parse_entity(_text(2, 1, 'metadata: "m" controller_metadata: 9')).table_entry
    for _ in range(3):
        notified = primary.next_message("idle_timeout_notification")
        assert named in notified.table_entry
        assert lasting not in notified.table_entry
    assert time.monotonic_ns() >= begun + 2 * SHORTEST_NS


def test_an_entry_that_is_gone_is_not_notified(primary: PlainController, plane: MemoryPlane) -> None:
    plane.idle = {_address(n): HOUR for n in (1, 2, 3)}
    gone, kept, last = (_text(n, 1) for n in (1, 2, 3))
    assert (
        primary.write(("INSERT", gone), ("DELETE", gone), ("INSERT", kept), ("MODIFY", _text(2, 0)))
        == ["OK"] * 4
    )
    refused = ("INSERT", "table_entry { table_id: 9 }")
    rolled_back = primary.write(("INSERT", gone), ("MODIFY", kept), refused, atomicity=1)
    assert rolled_back == ["ABORTED", "ABORTED", INVALID]
    assert primary.insert(last) == ["OK"]
    for _ in range(2):
        assert [
            each.match[0].ternary.value
            for each in primary.next_message("idle_timeout_notification").table_entry
        ] == [b"\x03"]


def test_many_notifications_come_in_messages_that_clients_take(
    primary: PlainController, plane: MemoryPlane
) -> None:
    plane.sizes[TABLE] = number = 2500
    plane.idle = {(TABLE, (None, Range(n, 0xFFFE), None), 7): HOUR for n in range(number)}
    match = 'match { field_id: 2 range { low: "%s" high: "\\xff\\xfe" } }'
    changes = []
    for n in range(number):
        low = "".join(f"\\x{byte:02x}" for byte in n.to_bytes(2, "big"))
        entry = f"table_id: {TABLE} {match % low} priority: 7 idle_timeout_ns: 1 {ACTION}"
        changes.append(("INSERT", f"table_entry {{ {entry} }}"))
    assert primary.write(*changes) == ["OK"] * number
    named = set[bytes]()
    while len(named) < number:
        entries = primary.next_message("idle_timeout_notification").table_entry
        assert 0 < len(entries) <= 1000
        named.update(each.match[0].range.low for each in entries)


def test_times_to_live_outlast_a_change_of_pipeline(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    plane.idle = {_address(1): HOUR}
    assert primary.insert(_text(1)) == ["OK"]
    assert primary.set_pipeline("RECONCILE_AND_COMMIT", p4info) == "OK"
    everything = parse_entity(f"table_entry {{ table_id: {TABLE} }}")
    assert primary.read(everything) == [parse_entity(_text(1))]

    assert primary.set_pipeline("VERIFY_AND_SAVE", p4info) == "OK"
    assert primary.insert(_text(1, 1)) == ["OK"]
    assert primary.set_pipeline("COMMIT") == "OK"
    assert len(primary.next_message("idle_timeout_notification").table_entry) == 1
    assert primary.read(everything) == [parse_entity(_text(1, 1))]
