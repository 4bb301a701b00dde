"""SetForwardingPipelineConfig and GetForwardingPipelineConfig: P4Runtime §14, §15."""

from concurrent.futures import Future, ThreadPoolExecutor

import grpc
import pytest

from olafswitch.p4runtime.agent import AgentServer
from olafswitch.p4runtime.dataplane import ActionCall, Exact, P4Info, Replica
from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime.controller import SECONDS, PlainController, parse_entity
from tests.p4runtime.memory_plane import MemoryPlane

ENTRY = (
    "INSERT",
    r"""table_entry { table_id: 0x02000001
        match { field_id: 1 exact { value: "\x0a" } } match { field_id: 2 exact { value: "\x01" } }
        action { action { action_id: 0x01000001
            params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" } } }
        counter_data { packet_count: 4 byte_count: 256 }
        meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }""",
)
GROUP = (
    "INSERT",
    """packet_replication_engine_entry {
        multicast_group_entry { multicast_group_id: 1 replicas { egress_port: 2 } } }""",
)
DEFAULT = (
    "MODIFY",
    r"""table_entry { table_id: 0x02000003 is_default_action: true
        action { action { action_id: 0x01000001
            params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" } } } }""",
)
ALL_ENTRIES = parse_entity("table_entry { }")
KEY = (0x02000001, (Exact(10), Exact(1)), 0)


def _pipeline(controller: PlainController, kind: str) -> object:
    request = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=1)
    request.response_type = p4runtime_pb2.GetForwardingPipelineConfigRequest.ResponseType.Value(kind)
    return controller.stub.GetForwardingPipelineConfig(request, timeout=SECONDS)


def test_without_a_pipeline_nothing_is_configured(controller: PlainController) -> None:
    controller.arbitrate(1)
    assert not _pipeline(controller, "ALL").HasField("config")  # type: ignore[attr-defined]  # protobuf
    assert controller.write(GROUP) == ["FAILED_PRECONDITION"]
    assert controller.read_codes(ALL_ENTRIES) == ["FAILED_PRECONDITION"]


def test_a_pipeline_is_read_as_it_was_set(primary: PlainController, p4info: P4Info) -> None:
    whole = _pipeline(primary, "ALL").config  # type: ignore[attr-defined]  # protobuf
    assert (whole.p4info, whole.p4_device_config, whole.cookie.cookie) == (p4info, b"program", 99)
    parts = {
        kind: {field.name for field, _ in _pipeline(primary, kind).config.ListFields()}  # type: ignore[attr-defined]  # protobuf
        for kind in ("COOKIE_ONLY", "P4INFO_AND_COOKIE", "DEVICE_CONFIG_AND_COOKIE")
    }
    assert parts == {
        "COOKIE_ONLY": {"cookie"},
        "P4INFO_AND_COOKIE": {"p4info", "cookie"},
        "DEVICE_CONFIG_AND_COOKIE": {"p4_device_config", "cookie"},
    }


def test_an_unknown_device_has_no_pipeline(primary: PlainController) -> None:
    request = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=3)
    with pytest.raises(grpc.RpcError) as refused:
        primary.stub.GetForwardingPipelineConfig(request, timeout=SECONDS)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    primary.device_id = 3
    assert primary.set_pipeline("COMMIT") == "NOT_FOUND"
    assert primary.write(GROUP) == ["NOT_FOUND"]
    assert primary.read_codes(ALL_ENTRIES) == ["NOT_FOUND"]


@pytest.mark.parametrize("action", ["VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"])
def test_what_cannot_run_is_refused_and_nothing_changes(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info, action: str
) -> None:
    primary.write(ENTRY)
    before, commits = plane.copy_state(), plane.commits
    assert primary.set_pipeline(action) == "INVALID_ARGUMENT"
    assert primary.set_pipeline(action, p4info, b"bad program") == "INVALID_ARGUMENT"
    broken = type(p4info)()
    broken.CopyFrom(p4info)
    broken.tables[0].action_refs[0].id = 12345
    assert primary.set_pipeline(action, broken) == "INVALID_ARGUMENT"
    assert (plane.copy_state(), plane.commits) == (before, commits)


def test_actions_that_do_not_exist(primary: PlainController, p4info: P4Info) -> None:
    assert primary.set_pipeline("UNSPECIFIED", p4info) == "INVALID_ARGUMENT"
    assert primary.set_pipeline("COMMIT") == "NOT_FOUND"
    assert primary.set_pipeline("COMMIT", p4info) == "INVALID_ARGUMENT"


def test_verify_changes_nothing(primary: PlainController, plane: MemoryPlane, p4info: P4Info) -> None:
    primary.write(ENTRY)
    assert primary.set_pipeline("VERIFY", p4info, b"other", cookie=5) == "OK"
    assert plane.commits == 1
    assert _pipeline(primary, "COOKIE_ONLY").config.cookie.cookie == 99  # type: ignore[attr-defined]  # protobuf


def test_commit_clears_the_forwarding_state(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    assert primary.write(ENTRY, GROUP) == ["OK", "OK"]
    assert primary.set_pipeline("VERIFY_AND_COMMIT", p4info, b"other") == "OK"
    assert KEY not in plane.entries
    assert not plane.multicast
    assert len(primary.read(ALL_ENTRIES)) == 3, "what the program itself declares"


def test_a_saved_pipeline_collects_writes_until_it_is_committed(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    old = ("INSERT", "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 9 } }")
    assert primary.write(old) == ["OK"]
    assert primary.set_pipeline("VERIFY_AND_SAVE", p4info, b"other", cookie=5) == "OK"
    assert primary.write(ENTRY, GROUP, DEFAULT) == ["OK"] * 3
    assert plane.commits == 1
    assert KEY not in plane.entries
    assert len(primary.read(ALL_ENTRIES)) == 4
    assert primary.set_pipeline("COMMIT") == "OK"
    assert plane.commits == 2
    assert plane.entries[KEY] == ActionCall(0x01000001, (2, 3))
    assert plane.direct_counters[KEY].packets == 4
    assert plane.direct_meters[KEY].pburst == 4
    assert plane.defaults == {0x02000003: ActionCall(0x01000001, (2, 3))}
    assert plane.multicast == {1: (Replica(2, 0),)}
    assert len(primary.read(ALL_ENTRIES)) == 4
    assert primary.set_pipeline("COMMIT") == "NOT_FOUND"


def test_a_saved_pipeline_without_changes_to_what_it_declares(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    gone = ("DELETE", r'table_entry { table_id: 0x02000007 match { field_id: 1 exact { value: "\x07" } } }')
    assert primary.set_pipeline("VERIFY_AND_SAVE", p4info) == "OK"
    assert primary.write(gone) == ["OK"]
    assert primary.set_pipeline("COMMIT") == "OK"
    assert {table for table, _, _ in plane.entries} == {0x02000004}


def test_reconcile_keeps_the_forwarding_state(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    assert primary.write(ENTRY, GROUP, DEFAULT) == ["OK"] * 3
    before = plane.copy_state()
    bigger = type(p4info)()
    bigger.CopyFrom(p4info)
    bigger.tables[0].size = 4096
    assert primary.set_pipeline("RECONCILE_AND_COMMIT", bigger, b"other", cookie=5) == "OK"
    assert plane.commits == 2
    after = plane.copy_state()
    # Arrays were read and set again; everything else is unchanged.
    assert {name: after[name] for name in ("entries", "defaults", "multicast", "direct_meters")} == {
        name: before[name] for name in ("entries", "defaults", "multicast", "direct_meters")
    }
    assert after["direct_counters"][KEY] == before["direct_counters"][KEY]


def test_reconcile_refuses_a_program_without_room_for_the_state(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    assert primary.write(ENTRY) == ["OK"]
    before = plane.copy_state()
    other = type(p4info)()
    other.CopyFrom(p4info)
    del other.tables[0].match_fields[1]
    assert primary.set_pipeline("RECONCILE_AND_COMMIT", other) == "INVALID_ARGUMENT"
    assert (plane.copy_state(), plane.commits) == (before, 1)


def _begun(primary: PlainController, plane: MemoryPlane, p4info: P4Info) -> Future[str]:
    """Return the outcome of a push that the device builds until ``may_build`` is set."""
    plane.building.clear()
    plane.may_build.clear()
    build = ThreadPoolExecutor(1).submit(primary.set_pipeline, "VERIFY_AND_COMMIT", p4info)
    assert plane.building.wait(10)
    return build


def test_forwarding_goes_on_while_a_pipeline_is_built(
    primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    build = _begun(primary, plane, p4info)
    assert primary.write(GROUP) == ["OK"]
    plane.may_build.set()
    assert build.result(10) == "OK"


def test_a_primary_deposed_during_the_build_commits_nothing(
    agent: AgentServer, primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    build = _begun(primary, plane, p4info)
    with PlainController(agent.address) as other:
        assert other.arbitrate(11).status.code == 0
        plane.may_build.set()
        assert build.result(10) == "PERMISSION_DENIED"
    assert plane.commits == 1


@pytest.mark.parametrize("failures", [1, 2])
def test_a_commit_that_fails_goes_back_or_leaves_no_pipeline(
    primary: PlainController,
    plane: MemoryPlane,
    p4info: P4Info,
    monkeypatch: pytest.MonkeyPatch,
    failures: int,
) -> None:
    assert primary.write(ENTRY) == ["OK"]
    commit, tries = plane.commit, iter(range(failures))

    def failing(pipeline: object) -> None:
        if next(tries, None) is not None:
            raise OSError("the card does not answer")
        commit(pipeline)

    monkeypatch.setattr(plane, "commit", failing)
    assert primary.set_pipeline("VERIFY_AND_COMMIT", p4info) == "INTERNAL"
    left = primary.read_codes(ALL_ENTRIES)
    assert left == (["OK"] if failures == 1 else ["FAILED_PRECONDITION"])
    assert KEY in plane.entries or failures == 2
    assert primary.set_pipeline("VERIFY_AND_COMMIT", p4info) == "OK"
    assert len(primary.read(ALL_ENTRIES)) == 3
