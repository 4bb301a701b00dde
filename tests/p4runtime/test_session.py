"""The client session against the agent, on which programs of devices depend."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2

from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.agent import AgentServer, serve_devices
from olafswitch.p4runtime.dataplane import P4Info
from olafswitch.p4runtime.entities import (
    CloneSession,
    DefaultAction,
    Exact,
    Lpm,
    MulticastGroup,
    NamedValues,
    Optional,
    PacketIn,
    Range,
    Replica,
    TableEntry,
    Ternary,
)
from olafswitch.p4runtime.failures import NotPrimary, P4RuntimeFailed, WriteFailed
from olafswitch.p4runtime.protocol import p4runtime_pb2
from olafswitch.p4runtime.session import Change, EntityUpdate, PushAction, Session
from tests.p4runtime.conftest import DECLARED, P4INFO_FILE
from tests.p4runtime.controller import SECONDS
from tests.p4runtime.memory_plane import MemoryPlane

FORWARD = {"port": 1, "label": 77}
EXACT = TableEntry("exact", {"address": 0x0A000001, "port": 3}, "forward", FORWARD)
LPM = TableEntry("lpm", {"address": Lpm(0x0A000000, 8)}, "forward", FORWARD)
RANKED = TableEntry(
    "ternary",
    {"value": Ternary(0x120, 0xFF0), "port": Range(5, 256), "maybe": Optional(0)},
    "forward",
    FORWARD,
    priority=7,
)
GROUP = MulticastGroup(3, [Replica(2, 1), Replica(1, 1)])


def test_entities_are_values() -> None:
    same = TableEntry(
        "exact", {"port": Exact(3), "address": Exact(0x0A000001)}, "forward", {"label": 77, "port": 1}
    )
    assert {EXACT, same} == {EXACT}
    assert MulticastGroup(3, (Replica(1, 1), Replica(2, 1))) == GROUP
    cared = TableEntry("ternary", {"value": Ternary(0, 0), "port": None, "maybe": Optional(1)}, priority=1)
    assert cared.match == {"maybe": Optional(1)}
    assert TableEntry("lpm", {"address": Lpm(0, 0)}).match == {}
    assert EXACT.key == ("exact", NamedValues({"address": Exact(0x0A000001), "port": Exact(3)}), 0)
    assert str(RANKED).startswith(
        "ternary[maybe=0x0 port=0x5..0x100 value=0x120&0xff0] priority 7 -> forward("
    )


def test_what_is_written_is_read(session: Session) -> None:
    wanted = {EXACT, LPM, RANKED}
    session.insert(*wanted)
    assert {entry for entry in session.entries() if entry.table in ("exact", "lpm", "ternary")} == wanted
    assert session.entries("exact") == {EXACT}
    assert session.entries("ingress.lpm") == {LPM}
    changed = TableEntry("exact", EXACT.match, "mark")
    session.write(
        [
            EntityUpdate(Change.MODIFY, changed),
            EntityUpdate(Change.DELETE, LPM),
            EntityUpdate(Change.INSERT, GROUP),
        ]
    )
    assert session.entries("exact") == {changed}
    assert session.entries("lpm") == set()
    assert session.multicast_groups() == {GROUP}
    session.insert(CloneSession(5, [Replica(1, 0)], packet_length=64))
    assert session.clone_sessions() == {CloneSession(5, (Replica(1, 0),), 64)}


def test_default_actions(session: Session) -> None:
    assert session.default_action("exact") == DefaultAction("exact", "NoAction")
    session.modify(DefaultAction("exact", "forward", FORWARD))
    assert session.default_action("exact") == DefaultAction("exact", "forward", FORWARD)
    session.modify(DefaultAction("exact"))
    assert session.default_action("exact") == DefaultAction("exact", "NoAction")


def test_a_batch_says_which_entry_was_refused_and_why(session: Session) -> None:
    session.insert(EXACT)
    with pytest.raises(WriteFailed) as failed:
        session.insert(LPM, EXACT, TableEntry("lpm", {"address": Lpm(0x0A000001, 8)}, "forward", FORWARD))
    assert [(each.index, each.code) for each in failed.value.failures] == [
        (1, "ALREADY_EXISTS"),
        (2, "INVALID_ARGUMENT"),
    ]
    first, second = (str(problem) for problem in failed.value.problems)
    assert first.startswith("device 1 at 127.0.0.1:")
    assert "insert exact[address=0xa000001 port=0x3]" in first
    assert "bits set beyond its prefix" in second
    assert session.entries("lpm") == {LPM}


def test_rollback(session: Session) -> None:
    with pytest.raises(WriteFailed) as failed:
        session.write([EntityUpdate(Change.INSERT, EXACT), EntityUpdate(Change.DELETE, LPM)], rollback=True)
    assert [each.code for each in failed.value.failures] == ["ABORTED", "NOT_FOUND"]
    assert session.entries("exact") == set()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (TableEntry("nowhere"), "no table named nowhere.*exact"),
        (TableEntry("exact", {"address": 1}, "mark"), "exact key field port is missing"),
        (TableEntry("exact", {"address": 1, "port": 1, "x": 1}, "mark"), "no key field x"),
        (TableEntry("exact", {"address": 1, "port": 512}, "mark"), "0x200 does not fit in 9 bits"),
        (TableEntry("exact", {"address": 1, "port": Lpm(1, 1)}, "mark"), "port is exact"),
        (TableEntry("exact", {"address": 1, "port": 1}, "absent"), "no action absent .known: forward"),
        (
            TableEntry("exact", {"address": 1, "port": 1}, "forward", {"port": 1}),
            "has the parameters port, label",
        ),
        (
            TableEntry("exact", {"address": 1, "port": 1}, "forward", {"port": 512, "label": 1}),
            "parameter port",
        ),
    ],
)
def test_what_does_not_fit_the_program_is_never_sent(session: Session, entry: TableEntry, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        session.insert(EXACT, entry)
    assert session.entries("exact") == set()


def test_primary_and_backup(agent: AgentServer, session: Session) -> None:
    assert session.is_primary
    with Session.connect(agent.address, 1, election_id=1 << 100, name="vnp4_1") as other:
        assert other.is_primary
        assert other.election_id == 1 << 100
        assert session.wait_for_primary(False, timeout=SECONDS)
        with pytest.raises(P4RuntimeFailed, match="PERMISSION_DENIED") as denied:
            session.insert(EXACT)
        assert denied.value.code == "PERMISSION_DENIED"
        other.insert(EXACT)
    assert not session.is_primary
    assert session.elect((1 << 100) + 1)
    session.insert(LPM)
    with Session.connect(agent.address, 1, election_id=None) as watcher:
        assert not watcher.is_primary
        assert watcher.entries("exact") == {EXACT}
        assert watcher.cookie() == 99


@contextmanager
def _serving(stream: Callable[[Iterator[Any], Any], Iterator[Any]]) -> Iterator[str]:
    """Yield the address of a switch that has this stream, and nothing else."""
    handler = grpc.stream_stream_rpc_method_handler(
        stream,
        p4runtime_pb2.StreamMessageRequest.FromString,
        p4runtime_pb2.StreamMessageResponse.SerializeToString,
    )
    server = grpc.server(ThreadPoolExecutor(2))
    service = grpc.method_handlers_generic_handler("p4.v1.P4Runtime", {"StreamChannel": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def _late_answers(requests: Iterator[Any], context: Any) -> Iterator[Any]:
    """Tell a newcomer that it is primary, and before any later answer that there is no primary."""
    yield _told(code_pb2.OK, next(requests).arbitration.election_id)
    for request in requests:
        yield _told(code_pb2.NOT_FOUND, p4runtime_pb2.Uint128(low=2))
        time.sleep(0.2)
        asked = request.arbitration.election_id
        wins = asked.low >= 2
        yield _told(
            code_pb2.OK if wins else code_pb2.NOT_FOUND, asked if wins else p4runtime_pb2.Uint128(low=2)
        )


def _told(code: int, highest: Any) -> Any:
    response = p4runtime_pb2.StreamMessageResponse()
    response.arbitration.status.code = code
    response.arbitration.election_id.CopyFrom(highest)
    return response


def test_that_another_left_does_not_answer_an_election() -> None:
    with _serving(_late_answers) as address, Session.connect(address, 1, election_id=1) as session:
        assert session.elect(3)
        assert not session.elect(1)


def test_close_returns_when_the_switch_ended_the_stream() -> None:
    released = 0

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        """Make everyone primary, and count each stream that its controller ended and did not just cancel."""
        nonlocal released
        for request in requests:
            yield _told(code_pb2.OK, request.arbitration.election_id)
        released += 1

    with _serving(stream) as address:
        for closed in range(1, 20):
            Session.connect(address, 1, election_id=1).close()
            assert released == closed


def test_pushing(agent: AgentServer, p4info: P4Info, tmp_path: Path) -> None:
    config = tmp_path / "program"
    config.write_bytes(b"bad program")
    with Session.connect(agent.address, 1) as session:
        assert session.cookie() is None
        with pytest.raises(P4RuntimeFailed, match="FAILED_PRECONDITION"):
            session.entries()
        with pytest.raises(P4RuntimeFailed, match=r"INVALID_ARGUMENT: program.p4:3:7"):
            session.push(P4INFO_FILE, config)
        with pytest.raises(BadInput, match="cannot read the P4Info"):
            session.push(config, config)
        session.push(P4INFO_FILE, b"good", cookie=1)
        session.insert(EXACT)
        session.push(p4info, b"better", action=PushAction.RECONCILE_AND_COMMIT, cookie=2)
        assert session.cookie() == 2
        assert session.entries("exact") == {EXACT}


def test_packets(session: Session, plane: MemoryPlane) -> None:
    packets = session.packets(timeout=SECONDS)
    plane.packet_in(b"\x80\xa0payload")
    assert next(packets) == PacketIn(b"payload", {"ingress_port": 257, "reason": 2, "padding": 0})
    with pytest.raises(BadInput, match="no field nonsense"):
        session.packet_out(b"", {"nonsense": 1})
    with pytest.raises(BadInput, match="does not fit"):
        session.packet_out(b"", {"egress_port": 512})
    session.packet_out(b"hello", {"egress_port": 5})
    session.elect(11)
    assert plane.sent == [b"\x02\x80hello"]
    session.close()
    assert list(packets) == []


def test_no_server_at_the_address() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(P4RuntimeFailed, match=r"vnp4_1 at 127.0.0.1:\d+: connecting: UNAVAILABLE"):
            Session.connect(address, 1, name="vnp4_1", timeout=0.3)
        assert time.monotonic() - started < SECONDS


def test_refused_connections(agent: AgentServer, session: Session) -> None:
    with pytest.raises(P4RuntimeFailed, match="NOT_FOUND: device 8 does not exist"):
        Session.connect(agent.address, 8)
    with pytest.raises(P4RuntimeFailed, match="election id 10 is used"):
        Session.connect(agent.address, 1, election_id=10)
    with pytest.raises(BadInput, match="128 bits"):
        Session.connect(agent.address, 1, election_id=1 << 128)


def test_the_agent_goes_away(plane: MemoryPlane, p4info: P4Info) -> None:
    agent = serve_devices({1: plane}, "127.0.0.1:0")
    with Session.connect(agent.address, 1, timeout=2) as session:
        session.push(p4info, b"program")
        packets = session.packets()
        agent.stop()
        assert list(packets) == []
        assert not session.alive
        assert not session.is_primary
        with pytest.raises(P4RuntimeFailed, match="UNAVAILABLE"):
            session.entries()
    agent.stop()


def test_nothing_stays_behind(plane: MemoryPlane, p4info: P4Info) -> None:
    before = set(threading.enumerate())
    with serve_devices({1: plane}, "127.0.0.1:0") as agent:
        for _ in range(70):
            Session.connect(agent.address, 1).close()
    with pytest.raises(P4RuntimeFailed):
        Session.connect(agent.address, 1, timeout=0.2)
    after = set(threading.enumerate()) - before
    for thread in after:
        thread.join(10)
    assert [thread.name for thread in after if thread.is_alive()] == []


def test_a_process_that_forgets_its_agent_and_session_ends(tmp_path: Path) -> None:
    script = tmp_path / "forgetful.py"
    script.write_text(
        "from olafswitch.p4runtime.agent import serve_devices\n"
        "from olafswitch.p4runtime.session import Session\n"
        "from tests.p4runtime.memory_plane import MemoryPlane\n"
        "agent = serve_devices({1: MemoryPlane()}, '127.0.0.1:0')\n"
        "session = Session.connect(agent.address, 1)\n"
        "raise SystemExit(7)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run([sys.executable, script], env=environment, timeout=60, check=False)
    assert ended.returncode == 7


def test_unix_sockets_and_several_devices(p4info: P4Info, tmp_path: Path) -> None:
    planes = {1: MemoryPlane(DECLARED), 2: MemoryPlane(DECLARED)}
    address = f"unix:{tmp_path}/p4runtime"
    with serve_devices(planes, address) as agent:
        assert agent.address == address
        with Session.connect(address, 1) as one, Session.connect(address, 2) as two:
            one.push(p4info, b"program")
            two.push(p4info, b"program")
            one.insert(EXACT)
            assert two.entries("exact") == set()
    assert len(planes[1].entries) == 4


def test_an_address_in_use(agent: AgentServer) -> None:
    with pytest.raises(Exception, match="cannot listen: Address already in use"):
        serve_devices({1: MemoryPlane()}, agent.address)


@pytest.mark.parametrize("seen", [7, 1 << 64, (1 << 128) - 1])
def test_an_election_id_that_was_seen_locks_no_other_out(agent: AgentServer, seen: int) -> None:
    Session.connect(agent.address, 1, election_id=seen).close()
    with Session.connect(agent.address, 1, election_id=5) as late:
        assert not late.is_primary
        late.become_primary()
        assert late.is_primary
        assert late.election_id == min(seen + 1, (1 << 128) - 1)


def test_a_primary_is_named_and_displaced_only_on_request(agent: AgentServer) -> None:
    with (
        Session.connect(agent.address, 1, election_id=1 << 64) as first,
        Session.connect(agent.address, 1, election_id=5) as late,
    ):
        with pytest.raises(NotPrimary) as refused:
            late.become_primary()
        assert refused.value.election_id == 1 << 64
        assert "election id 1,0" in str(refused.value)
        assert f"olafswitch pid {os.getpid()}" in str(refused.value)
        assert first.is_primary
        late.become_primary(take_over=True)
        assert late.is_primary
        assert first.wait_for_primary(False, timeout=SECONDS)


def test_a_device_may_have_the_id_0(p4info: P4Info) -> None:
    with (
        serve_devices({0: MemoryPlane(DECLARED)}, "127.0.0.1:0") as agent,
        Session.connect(agent.address, 0) as zero,
    ):
        zero.push(p4info, b"program")
        zero.insert(EXACT)
        assert zero.entries("exact") == {EXACT}


def test_a_device_started_with_a_program_has_seen_no_election(p4info: P4Info) -> None:
    with serve_devices({1: MemoryPlane(DECLARED)}, "127.0.0.1:0") as agent:
        agent.load_pipeline(1, p4info, b"program")
        with Session.connect(agent.address, 1, election_id=0) as session:
            assert session.is_primary
            assert len(session.entries()) == 3
        with pytest.raises(OlafError, match="no such extern"):
            agent.load_pipeline(1, p4info, b"bad")


def test_a_thousand_entries_are_written_changed_and_removed(session: Session) -> None:
    entries = [
        TableEntry("exact", {"address": number, "port": 1}, "forward", FORWARD) for number in range(1000)
    ]
    session.insert(*entries)
    session.modify(*entries)
    assert session.entries("exact") == set(entries)
    session.delete(*entries)
    assert session.entries("exact") == set()
