"""The agent over a compiled program: packets meet the entries that a controller writes."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from olafswitch.p4.compiler import Program, compile_program, compile_text
from olafswitch.p4.p4info.ids import name_hash
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file, preprocess_text
from olafswitch.p4runtime.agent import AgentServer
from olafswitch.p4runtime.entities import (
    CounterData,
    DefaultAction,
    Exact,
    Lpm,
    MulticastGroup,
    PacketIn,
    Replica,
    TableEntry,
    Ternary,
)
from olafswitch.p4runtime.failures import P4RuntimeFailed, WriteFailed
from olafswitch.p4runtime.session import PushAction, Session
from tests.p4.parts import parts_text
from tests.p4runtime import messages
from tests.p4runtime.controller import SECONDS, PlainController, codes_of

P4SRC = Path(__file__).parents[2] / "p4src"
FORWARD = {"port": 4, "label": 77}
EXACT = TableEntry("exact", {"address": 0x0A000001, "port": 3}, "forward", FORWARD)


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_program(Path(__file__).with_name("program.p4"), optimize="-O0")


@pytest.fixture
def switch() -> Iterator[NativeSwitch]:
    switch = NativeSwitch(optimize="-O0")
    yield switch
    switch.close()


@pytest.fixture
def device(switch: NativeSwitch) -> NativeSwitch:
    return switch


def _frame(address: int = 0x0A000001, port: int = 0, kind: int = 0, value: int = 0, mac: int = 0) -> bytes:
    fields = ((address, 4), (port, 2), (kind, 2), (value, 1), (0, 1), (mac, 6))
    return b"".join(number.to_bytes(size, "big") for number, size in fields)


def test_entries_steer_packets_and_count_them(session: Session, switch: NativeSwitch) -> None:
    frame = _frame()
    session.insert(EXACT)
    assert switch.process(3, frame) == [(4, frame)]
    assert switch.process(2, frame) != [(4, frame)]
    assert session.direct_counters("exact") == {EXACT: CounterData(1, 16)}
    session.modify(TableEntry("exact", EXACT.match, "forward", {"port": 6, "label": 1}))
    assert switch.process(3, frame) == [(6, frame)]
    session.delete(EXACT)
    session.modify(DefaultAction("exact", "forward", {"port": 7, "label": 1}))
    assert switch.process(3, frame) == [(7, frame)]


def test_priorities_and_prefixes(session: Session, switch: NativeSwitch) -> None:
    def to(port: int) -> dict[str, int]:
        return {"port": port, "label": 0}

    session.insert(
        TableEntry("lpm", {"address": Lpm(0x0A000000, 8)}, "forward", to(1)),
        TableEntry("lpm", {"address": Lpm(0x0A010000, 16)}, "forward", to(2)),
    )
    assert switch.process(0, _frame(0x0A020000))[0][0] == 1
    assert switch.process(0, _frame(0x0A010001))[0][0] == 2
    session.insert(
        TableEntry("ternary", {"value": Ternary(0x020, 0x0F0)}, "forward", to(3), priority=1),
        TableEntry("ternary", {"value": Ternary(0x021, 0x0FF)}, "forward", to(4), priority=2),
    )
    assert switch.process(0, _frame(0x0A010001, port=0x022))[0][0] == 3
    assert switch.process(0, _frame(0x0A010001, port=0x021))[0][0] == 4


def test_what_the_program_declares_is_read(session: Session, switch: NativeSwitch) -> None:
    assert session.entries("constant") == {
        TableEntry("constant", {"value": 1}, "forward", {"port": 5, "label": 6}),
        TableEntry("constant", {"value": 2}, "NoAction"),
    }
    preset = TableEntry("preset", {"value": 7}, "NoAction")
    assert session.entries("preset") == {preset}
    with pytest.raises(WriteFailed, match="ALREADY_EXISTS"):
        session.insert(preset)
    session.modify(TableEntry("preset", {"value": 7}, "forward", {"port": 8, "label": 0}))
    assert switch.process(0, _frame(value=7))[0][0] == 8
    with pytest.raises(P4RuntimeFailed, match="UNIMPLEMENTED"):
        session.default_counter("exact")


HIDDEN = """
    @hidden action inside(bit<9> port) { s.egress_spec = port; }
    action out_of(bit<9> port) { s.egress_spec = port; }
    @hidden table secret { key = { h.h.v: exact; } actions = { out_of; NoAction; }
        const entries = { 7: out_of(3); } }
    table shown { key = { h.h.v: exact; } actions = { inside; out_of; } default_action = inside(5);
        entries = { 9: inside(6); } }
"""


def test_what_is_hidden_acts_and_no_controller_can_name_it(agent: AgentServer, switch: NativeSwitch) -> None:
    body = "if (!secret.apply().hit) { shown.apply(); }"
    text = preprocess_text(parts_text(local=HIDDEN, body=body, state="packet.extract(h.h);"), "case.p4")
    program = compile_text(text, optimize="-O0")
    with Session.connect(agent.address, 1, election_id=10) as session:
        session.push(program.p4info, program.device_config)
        assert [switch.process(0, bytes([value]))[0][0] for value in (7, 8, 9)] == [3, 5, 6]
        session.insert(TableEntry("shown", {"h.h.v": 8}, "out_of", {"port": 4}))
        assert switch.process(0, b"\x08")[0][0] == 4
    hidden = next(ref.id for ref in program.p4info.tables[0].action_refs)
    with PlainController(agent.address) as controller:
        controller.arbitrate(11)
        rows = [read.table_entry for read in controller.read("table_entry { }")]
        assert {row.table_id for row in rows} == {program.p4info.tables[0].preamble.id}
        assert sorted(row.action.action.action_id == hidden for row in rows) == [False, True]
        call = f"action {{ action {{ action_id: {hidden} }} }}"
        key = r'match { field_id: 1 exact { value: "\x01" } }'
        secret = 0x02000000 | name_hash("MyIngress.secret") & 0xFFFFFF
        for table in (program.p4info.tables[0].preamble.id, secret):
            refused = controller.insert(f"table_entry {{ table_id: {table} {key} {call} }}")
            assert refused == ["INVALID_ARGUMENT"]


def test_arrays(session: Session, switch: NativeSwitch) -> None:
    switch.process(0, _frame(port=0xFFF, mac=0x020000000001))
    assert session.counter("frames")[2] == CounterData(1, 16)
    assert session.register("seen") == [0, 0x020000000001, 0, 0]


def test_hits_are_timed_and_idle_entries_notified(primary: PlainController, switch: NativeSwitch) -> None:
    entry = (
        r"""table_id: 0x02000003 priority: 1 match { field_id: 1 ternary { value: "\x21" mask: "\xff" } }"""
    )
    forward = r"""action { action { action_id: 0x01000001
        params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" } } }"""

    def idle() -> int:
        (read,) = primary.read("table_entry { table_id: 0x02000003 time_since_last_hit { } }")
        elapsed: int = read.table_entry.time_since_last_hit.elapsed_ns
        return elapsed

    assert primary.insert(f"table_entry {{ {entry} {forward} }}") == ["OK"]
    while idle() < 50_000_000:
        pass
    before = time.monotonic_ns()
    assert switch.process(0, _frame(port=0x021))[0][0] == 2
    assert 0 < idle() <= time.monotonic_ns() - before
    timed = f"table_entry {{ {entry} {forward} idle_timeout_ns: 1 }}"
    assert primary.modify(timed) == ["OK"]
    (notified,) = primary.next_message("idle_timeout_notification").table_entry
    assert (notified.table_id, notified.idle_timeout_ns) == (0x02000003, 1)


def test_packets_and_digests(session: Session, switch: NativeSwitch) -> None:
    session.packet_out(b"hello", {"egress_port": 5})
    assert next(session.packets(timeout=SECONDS)) == PacketIn(
        b"hello", {"ingress_port": 5, "reason": 0, "padding": 0}
    )
    session.subscribe(next(iter(session.program.digests.values())).alias)
    switch.process(3, _frame(mac=0x020000000009))
    assert next(session.digests(timeout=SECONDS)).values == ((0x020000000009, 3),)


def test_reconcile_keeps_what_packets_meet(session: Session, switch: NativeSwitch, program: Program) -> None:
    session.insert(EXACT, MulticastGroup(3, [Replica(1, 1)]))
    frame = _frame()
    switch.process(3, frame)
    session.push(program.p4info, program.device_config, action=PushAction.RECONCILE_AND_COMMIT)
    assert switch.process(3, frame) == [(4, frame)]
    assert session.direct_counters("exact") == {EXACT: CounterData(2, 32)}
    assert session.multicast_groups() == {MulticastGroup(3, [Replica(1, 1)])}


def test_a_program_that_does_not_compile_leaves_the_old_one(
    session: Session, switch: NativeSwitch, program: Program
) -> None:
    session.insert(EXACT)
    with pytest.raises(P4RuntimeFailed, match="INVALID_ARGUMENT"):
        session.push(program.p4info, b"control broken")
    assert switch.process(3, _frame()) == [(4, _frame())]
    assert session.entries("exact") == {EXACT}


def test_the_projects_programs(switch: NativeSwitch, agent: AgentServer) -> None:
    small = preprocess_file(P4SRC / "vnp4_1.p4").replace("size = 16384", "size = 64")
    vnp4_1 = compile_text(small, optimize="-O0")
    vnp4_2 = compile_program(P4SRC / "vnp4_2.p4", optimize="-O0")
    with Session.connect(agent.address, 1) as session:
        session.push(vnp4_1.p4info, vnp4_1.device_config)
        assigned = {
            "cluster": 3,
            "worker": 70000,
            "index": 3,
            "segments": 1,
            "member": 0,
            "epoch": 0,
            "port": 1,
        }
        worker = TableEntry("workers", {"worker_addr": 1}, "assign", assigned)
        admitted = {"port": 2, "mac": 3, "udp_port": 4}
        session.insert(worker, TableEntry("parameter_servers", {"server_addr": 2}, "admit", admitted))
        assert session.entries("workers") == {worker}
        assert session.default_action("workers") == DefaultAction("workers", "unknown_worker")
        size = session.program.table_named("workers").size
        assert size == 64
        with pytest.raises(WriteFailed) as full:
            session.insert(
                *(
                    TableEntry("workers", {"worker_addr": n}, "assign", assigned | {"worker": n})
                    for n in range(2, size + 3)
                )
            )
        assert {failure.code for failure in full.value.failures} == {"RESOURCE_EXHAUSTED"}
        assert len(session.entries("workers")) == size

        session.push(vnp4_2.p4info, vnp4_2.device_config)
        entries = {
            TableEntry("cluster_multicast", {"cluster": 3}, "multicast", {"group": 3}),
            TableEntry("forwarding", {"dst_addr": Lpm(0x0A010000, 16)}, "forward", {"port": 2}),
            TableEntry("bridging", {"dst_mac": Exact(0x020000000001)}, "flood", {"group": 9}),
            TableEntry("members", {"member": 1}, "deliver", {"mac": 1, "addr": 2, "port": 3}),
        }
        session.insert(*entries, MulticastGroup(3, [Replica(1, 1), Replica(2, 2)]))
        assert session.entries() == entries


def test_mutated_messages_between_packets(primary: PlainController, switch: NativeSwitch) -> None:
    rng = random.Random(20300)
    write = primary.channel.unary_unary("/p4.v1.P4Runtime/Write")
    refused = set[str]()
    for _ in range(600):
        try:
            write(messages.write_request(rng, 10), timeout=SECONDS)
        except grpc.RpcError as error:
            refused.update(codes_of(error))
        switch.process(rng.randint(0, 5), rng.randbytes(rng.choice((0, 5, 16, 40))))
    assert {"OK", "NOT_FOUND", "INVALID_ARGUMENT"} < refused
    assert "INTERNAL" not in refused
    assert primary.modify("counter_entry { counter_id: 0x12000001 }") == ["OK"]
