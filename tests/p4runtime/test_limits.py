"""The limits of one call to the agent, which do not keep others waiting."""

import threading
from typing import Any

import pytest

from olafswitch.p4runtime import limits
from olafswitch.p4runtime.agent import AgentServer, encode
from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime import messages
from tests.p4runtime.controller import SECONDS, PlainController, parse_entity, parse_update
from tests.p4runtime.memory_plane import MemoryPlane

EXACT = 0x02000001
ALL_ENTRIES = parse_entity("table_entry { }")
GROUP = ("INSERT", "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } }")


def _entry(number: int, metadata: bytes = b"") -> Any:
    change = parse_update("INSERT", messages.ENTRY)
    change.entity.table_entry.match[0].exact.value = number.to_bytes(4, "big")
    change.entity.table_entry.metadata = metadata
    return change


def test_a_message_above_the_limit_is_refused(primary: PlainController) -> None:
    too_large = _entry(1, bytes(limits.MESSAGE_BYTES))
    assert primary.write(too_large) == ["RESOURCE_EXHAUSTED"]
    assert primary.write(_entry(1, bytes(limits.MESSAGE_BYTES - 1000))) == ["OK"]


def test_only_the_primarys_batch_is_looked_at(
    agent: AgentServer, primary: PlainController, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_UPDATES", 1)
    primary.election_id = 5
    assert primary.write(_entry(1), _entry(2)) == ["PERMISSION_DENIED"]
    assert primary.set_pipeline("VERIFY_AND_COMMIT", None) == "PERMISSION_DENIED"


def test_batches_above_the_limits_are_refused(
    primary: PlainController, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_UPDATES", 3)
    assert primary.write(*(_entry(number) for number in range(4))) == ["RESOURCE_EXHAUSTED"]
    assert primary.write(*(_entry(number) for number in range(3))) == ["OK"] * 3
    monkeypatch.setattr(limits, "READ_REQUESTS", 2)
    assert primary.read_codes(*[ALL_ENTRIES] * 3) == ["RESOURCE_EXHAUSTED"]
    assert primary.read_codes(*[ALL_ENTRIES] * 2) == ["OK"] * 2


def test_a_selection_above_the_limit_is_refused(
    primary: PlainController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program declares three entries; a filter that selects none still visits them."""
    monkeypatch.setattr(limits, "READ_ENTITIES", 12)
    assert primary.read_codes(*[ALL_ENTRIES] * 2) == ["OK"] * 2
    assert primary.read_codes(*[ALL_ENTRIES] * 3) == ["RESOURCE_EXHAUSTED"]
    constant = parse_entity('table_entry { table_id: 0x02000004 metadata: "none" }')
    assert primary.read_codes(*[constant] * 6) == ["OK"] * 6
    assert primary.read_codes(*[constant] * 7) == ["RESOURCE_EXHAUSTED"]


def test_writes_are_served_while_a_read_is_encoded(
    primary: PlainController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read waits in its encoding until a later write is done."""
    assert primary.write(_entry(1)) == ["OK"]
    reading, written = threading.Event(), threading.Event()
    table_entry = encode.table_entry

    def slow(*arguments: Any) -> Any:
        reading.set()
        assert written.wait(10)
        return table_entry(*arguments)

    monkeypatch.setattr(encode, "table_entry", slow)
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.extend(primary.read(ALL_ENTRIES)))
    reader.start()
    assert reading.wait(10)
    assert primary.write(GROUP) == ["OK"]
    written.set()
    reader.join(10)
    assert len(found) == 4


def test_a_read_shows_one_state_however_slowly_it_is_taken(
    primary: PlainController, plane: MemoryPlane
) -> None:
    """The 24 MB of entries are deleted after the first message of the answer."""
    plane.sizes[EXACT] = number = 384
    entries = [_entry(each, bytes(1 << 16)) for each in range(number)]
    for start in range(0, number, 128):
        assert primary.write(*entries[start : start + 128]) == ["OK"] * 128
    query = p4runtime_pb2.ReadRequest(
        device_id=1, entities=[parse_entity(f"table_entry {{ table_id: {EXACT} }}")]
    )
    answers = primary.stub.Read(query, timeout=SECONDS)
    taken = len(next(answers).entities)
    assert taken < number
    for change in entries:
        change.type = p4runtime_pb2.Update.DELETE
        change.entity.table_entry.metadata = b""
    assert primary.write(*entries) == ["OK"] * number
    assert taken + sum(len(answer.entities) for answer in answers) == number
    assert primary.read(query.entities[0]) == []
