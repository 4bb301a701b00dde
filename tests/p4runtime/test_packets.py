"""Packets and digests on the stream: P4Runtime §9.8, §16."""

import pytest

from olafswitch.p4runtime.agent import AgentServer
from olafswitch.p4runtime.agent.controller_stream import ControllerStream
from olafswitch.p4runtime.agent.device import AgentDevice
from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime.controller import PlainController, parse_entity
from tests.p4runtime.memory_plane import MemoryPlane

LEARN = 0x17000001


def _packet_out(payload: bytes, **fields: bytes) -> object:
    request = p4runtime_pb2.StreamMessageRequest()
    request.packet.payload = payload
    for name, value in fields.items():
        request.packet.metadata.add(metadata_id=int(name[1:]), value=value)
    return request


def test_packets_out_get_the_programs_header(primary: PlainController, plane: MemoryPlane) -> None:
    primary.send(_packet_out(b"frame", m1=b"\x01\x05", m2=b"\x00"))
    primary.send(_packet_out(b"", m2=b"\x7f", m1=b"\x00\x00\x01"))
    primary.arbitrate(10)  # an answer comes after the packets were handled
    assert plane.sent == [b"\x82\x80frame", b"\x00\xff"]


def test_wrong_packets_out_are_reported_and_dropped(primary: PlainController, plane: MemoryPlane) -> None:
    for fields in (
        {"m1": b"\x01"},
        {"m1": b"\x01", "m2": b"\x00", "m7": b"\x01"},
        {"m1": b"\x02\x00", "m2": b"\x00"},
    ):
        request = _packet_out(b"frame", **fields)
        primary.send(request)
        error = primary.next_message("error")
        assert error.canonical_code == 3
        assert error.message
        assert error.packet_out.packet_out == request.packet  # type: ignore[attr-defined]  # protobuf
    assert plane.sent == []


def test_a_packet_that_fails_ends_the_stream_with_the_reason(
    primary: PlainController,
    plane: MemoryPlane,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(frame: bytes) -> None:
        raise RuntimeError("the driver's library has crashed")

    monkeypatch.setattr(plane, "packet_out", fail)
    primary.send(_packet_out(b"frame", m1=b"\x01", m2=b"\x00"))
    assert primary.next_message("end") == "INTERNAL"
    assert "the driver's library has crashed" in caplog.text


def test_only_the_primary_sends_and_receives_packets(
    agent: AgentServer, primary: PlainController, plane: MemoryPlane
) -> None:
    with PlainController(agent.address) as backup:
        backup.arbitrate(2)
        backup.send(_packet_out(b"frame", m1=b"\x01", m2=b"\x00"))
        assert backup.next_message("error").canonical_code == 7
        plane.packet_in(b"\x80\xa0payload")
        packet = primary.next_message("packet")
        assert packet.payload == b"payload"
        values = [(each.metadata_id, each.value) for each in packet.metadata]
        assert values == [(1, b"\x01\x01"), (2, b"\x02"), (3, b"\x00")]
        plane.packet_in(b"\x80")  # the frame is shorter than its header: dropped
        plane.packet_in(b"\x00\x00")
        assert primary.next_message("packet").payload == b""
    assert plane.sent == []


def test_a_slow_controller_loses_packets_and_the_agent_goes_on() -> None:
    stream = ControllerStream(_no_device, "test")
    for number in range(5000):
        stream.offer(number.to_bytes(2, "big"))
    stream.send(b"arbitration")
    stream.end_stream(None)
    kept = list(stream.messages())
    assert len(kept) == 4097
    assert kept[0] == bytes(2)
    assert kept[-1] == b"arbitration"


def _no_device(device_id: int) -> AgentDevice:
    raise AssertionError(device_id)


def _learn(change: str, **config: int) -> object:
    settings = " ".join(f"{name}: {value}" for name, value in config.items())
    return (change, f"digest_entry {{ digest_id: {LEARN} config {{ {settings} }} }}")


def test_digests_are_sent_when_enabled(primary: PlainController, plane: MemoryPlane) -> None:
    plane.digest(LEARN, [b"\x01", b"\x02"])
    assert primary.write(_learn("INSERT", max_list_size=1)) == ["OK"]
    plane.digest(LEARN, [b"\x0a\x0b", b"\x03"])
    digest = primary.next_message("digest")
    assert digest.digest_id == LEARN
    assert digest.timestamp > 0
    assert [member.bitstring for member in digest.data[0].struct.members] == [b"\x0a\x0b", b"\x03"]
    assert primary.read("digest_entry { }") == [
        parse_entity(f"digest_entry {{ digest_id: {LEARN} config {{ max_list_size: 1 }} }}")
    ]
    assert primary.write(
        _learn("INSERT"),
        ("INSERT", "digest_entry { digest_id: 3 }"),
        _learn("MODIFY", max_list_size=-1),
        _learn("DELETE"),
        _learn("MODIFY"),
    ) == ["ALREADY_EXISTS", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "OK", "NOT_FOUND"]


def test_digests_are_sent_once_until_acknowledged(primary: PlainController, plane: MemoryPlane) -> None:
    hour = 3600 * 10**9
    assert primary.write(_learn("INSERT", max_list_size=2, max_timeout_ns=hour, ack_timeout_ns=hour)) == [
        "OK"
    ]
    first, second, third = [b"\x01", b"\x01"], [b"\x02", b"\x01"], [b"\x03", b"\x01"]
    for digest in (first, first, second, second, first, third):
        plane.digest(LEARN, digest)
    batch = primary.next_message("digest")
    assert len(batch.data) == 2
    ack = p4runtime_pb2.StreamMessageRequest()
    ack.digest_ack.digest_id, ack.digest_ack.list_id = LEARN, batch.list_id
    primary.send(ack)
    primary.arbitrate(10)
    plane.digest(LEARN, first)
    newer = primary.next_message("digest")
    assert [each.struct.members[0].bitstring for each in newer.data] == [b"\x03", b"\x01"]
    assert newer.list_id != batch.list_id


def test_digests_do_not_wait_longer_than_their_timeout(primary: PlainController, plane: MemoryPlane) -> None:
    assert primary.write(_learn("INSERT", max_list_size=100, max_timeout_ns=1_000_000)) == ["OK"]
    plane.digest(LEARN, [b"\x01", b"\x01"])
    assert len(primary.next_message("digest").data) == 1


def test_acknowledging_an_unknown_digest_is_an_error(primary: PlainController) -> None:
    ack = p4runtime_pb2.StreamMessageRequest()
    ack.digest_ack.digest_id = 5
    primary.send(ack)
    error = primary.next_message("error")
    assert error.canonical_code == 3
    assert error.WhichOneof("details") == "digest_list_ack"
