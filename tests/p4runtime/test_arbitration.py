"""Elections: P4Runtime §5."""

from contextlib import ExitStack
from typing import Any

from google.protobuf import text_format
from google.rpc import code_pb2

from olafswitch.p4runtime.agent import AgentServer, serve_devices
from olafswitch.p4runtime.dataplane import P4Info
from olafswitch.p4runtime.protocol import p4runtime_pb2
from olafswitch.p4runtime.session import Session
from tests.p4runtime.controller import SECONDS, PlainController
from tests.p4runtime.memory_plane import MemoryPlane

HUGE = (1 << 128) - 1
GROUP = ("INSERT", "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } }")
OK, TAKEN, NO_PRIMARY = code_pb2.OK, code_pb2.ALREADY_EXISTS, code_pb2.NOT_FOUND


def _arbitration_request(text: str) -> Any:
    """Return a request to arbitrate, from its text form."""
    return text_format.Parse(f"arbitration {{ {text} }}", p4runtime_pb2.StreamMessageRequest())


def _election_id(answer: Any) -> int:
    return int(answer.election_id.high << 64 | answer.election_id.low)


def test_the_highest_election_id_is_primary(agent: AgentServer, p4info: P4Info) -> None:
    with PlainController(agent.address) as first, PlainController(agent.address) as second:
        answer = first.arbitrate(5)
        assert (answer.device_id, answer.status.code, _election_id(answer)) == (1, OK, 5)
        assert first.set_pipeline("VERIFY_AND_COMMIT", p4info) == "OK"

        lower = second.arbitrate(4)
        assert (lower.status.code, _election_id(lower)) == (TAKEN, 5)
        assert "primary controller is ipv4:127.0.0.1:" in lower.status.message
        assert "grpc-python" in lower.status.message
        assert second.write(GROUP) == ["PERMISSION_DENIED"]
        assert second.set_pipeline("VERIFY_AND_COMMIT", p4info) == "PERMISSION_DENIED"
        assert second.read() == []

        assert second.arbitrate(HUGE).status.code == OK
        deposed = first.next_message("arbitration")
        assert (deposed.status.code, _election_id(deposed)) == (TAKEN, HUGE)
        assert first.write(GROUP) == ["PERMISSION_DENIED"]
        assert second.write(GROUP) == ["OK"]


def test_after_the_primary_left_only_a_higher_id_becomes_primary(agent: AgentServer, p4info: P4Info) -> None:
    with PlainController(agent.address) as primary, PlainController(agent.address) as backup:
        primary.arbitrate(7)
        primary.set_pipeline("VERIFY_AND_COMMIT", p4info)
        backup.arbitrate(3)
        primary.end_stream()
        alone = backup.next_message("arbitration")
        assert (alone.status.code, _election_id(alone)) == (NO_PRIMARY, 7)
        assert backup.write(GROUP) == ["PERMISSION_DENIED"]
        assert backup.arbitrate(6).status.code == NO_PRIMARY
        assert backup.arbitrate(7).status.code == OK
        assert backup.write(GROUP) == ["OK"]


def test_a_primary_can_step_down(agent: AgentServer) -> None:
    with PlainController(agent.address) as first, PlainController(agent.address) as second:
        first.arbitrate(7)
        second.arbitrate(3)
        assert first.arbitrate(2).status.code == NO_PRIMARY
        assert second.next_message("arbitration").status.code == NO_PRIMARY


def test_without_an_election_id_a_controller_stays_backup(controller: PlainController) -> None:
    answer = controller.arbitrate(None)
    assert answer.status.code == NO_PRIMARY
    assert not answer.HasField("election_id")
    assert controller.write() == ["PERMISSION_DENIED"]


def test_election_id_zero_is_an_election_id(controller: PlainController) -> None:
    answer = controller.arbitrate(0)
    assert answer.status.code == OK
    assert answer.HasField("election_id")


def test_an_election_id_in_use_ends_the_stream(agent: AgentServer) -> None:
    with PlainController(agent.address) as first, PlainController(agent.address) as second:
        first.arbitrate(7)
        second.send(_arbitration_request("device_id: 1 election_id { low: 7 }"))
        assert second.next_message("end") == "INVALID_ARGUMENT"
        assert first.arbitrate(7).status.code == OK


def test_an_unknown_device_ends_the_stream(controller: PlainController) -> None:
    controller.send(_arbitration_request("device_id: 9"))
    assert controller.next_message("end") == "NOT_FOUND"


def test_a_stream_keeps_its_device_and_role(controller: PlainController) -> None:
    controller.arbitrate(7)
    controller.send(_arbitration_request('device_id: 1 role { name: "other" } election_id { low: 7 }'))
    assert controller.next_message("end") == "FAILED_PRECONDITION"


def test_a_role_configuration_is_refused(controller: PlainController) -> None:
    controller.send(_arbitration_request('device_id: 1 role { config { type_url: "type.example/config" } }'))
    assert controller.next_message("end") == "INVALID_ARGUMENT"


def test_each_role_has_its_own_primary(agent: AgentServer, p4info: P4Info) -> None:
    with PlainController(agent.address) as one, PlainController(agent.address) as other:
        assert one.arbitrate(5).status.code == OK
        answer = other.arbitrate(5, role="telemetry")
        assert (answer.status.code, answer.role.name) == (OK, "telemetry")
        assert one.set_pipeline("VERIFY_AND_COMMIT", p4info) == "OK"
        assert other.write(GROUP) == ["OK"]
        other.role = "unknown"
        assert other.write(GROUP) == ["NOT_FOUND"]


def test_half_closing_the_stream_ends_it(controller: PlainController) -> None:
    controller.arbitrate(1)
    controller.half_close()
    assert controller.next_message("end") == "OK"


def test_streams_beyond_the_limit_are_refused_and_calls_served(agent: AgentServer) -> None:
    crowd = [PlainController(agent.address) for _ in range(48)]
    try:
        for place, each in enumerate(crowd):
            each.arbitrate(place)
        with PlainController(agent.address) as late:
            late.send(_arbitration_request("device_id: 1"))
            assert late.next_message("end") == "RESOURCE_EXHAUSTED"
            version = late.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest(), timeout=SECONDS)
            assert version.p4runtime_api_version == "1.4.1"
    finally:
        for each in crowd:
            each.end_stream()
            each.channel.close()


def test_each_of_many_devices_has_a_controller_and_one_that_looks_on() -> None:
    devices = range(1, 65)
    with (
        serve_devices({number: MemoryPlane(()) for number in devices}, "127.0.0.1:0") as agent,
        ExitStack() as stack,
    ):
        for number in devices:
            for election in (1, None):
                stack.enter_context(Session.connect(agent.address, number, election_id=election))


def test_requests_without_an_election_id_are_answered_as_bmv2_answers(p4info: P4Info) -> None:
    """The answers are BMv2's, from its server's source: strict devices refuse each request."""
    commit = "VERIFY_AND_COMMIT"
    for as_bmv2, allowed in ((True, "OK"), (False, "PERMISSION_DENIED")):
        with (
            serve_devices({1: MemoryPlane(())}, "127.0.0.1:0", as_bmv2=as_bmv2) as agent,
            ExitStack() as stack,
        ):
            none, some, other, late = (stack.enter_context(PlainController(agent.address)) for _ in range(4))
            assert none.set_pipeline(commit, p4info) == allowed  # this request has no stream
            assert some.arbitrate(None).status.code == (OK if as_bmv2 else NO_PRIMARY)
            assert some.set_pipeline(commit, p4info) == allowed  # it arbitrated with the device alone
            assert some.write(GROUP) == [allowed]
            assert other.arbitrate(7).status.code == OK
            assert some.set_pipeline(commit, p4info) == "PERMISSION_DENIED"
            assert none.set_pipeline(commit, p4info) == "PERMISSION_DENIED"
            assert other.set_pipeline(commit, p4info) == "OK"
            if not as_bmv2:
                continue
            assert some.next_message("arbitration").status.code == TAKEN
            other.end_stream()
            assert some.next_message("arbitration").status.code == OK  # this is the highest id that is left
            assert some.set_pipeline(commit, p4info) == "OK"
            assert late.arbitrate(3).status.code == OK  # 7 was seen before


def test_a_role_configuration_is_ignored_as_bmv2_does(p4info: P4Info) -> None:
    with (
        serve_devices({1: MemoryPlane(())}, "127.0.0.1:0", as_bmv2=True) as agent,
        PlainController(agent.address) as controller,
    ):
        controller.send(
            _arbitration_request('device_id: 1 role { config { type_url: "type.example/config" } }')
        )
        assert controller.next_message("arbitration").status.code == OK
