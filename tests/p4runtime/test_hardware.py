"""The agent over the registers of a program in Verilog: the native switch's tests, and hardware's own."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4runtime.agent import AgentServer
from olafswitch.p4runtime.entities import DefaultAction, PacketIn, Range, TableEntry
from olafswitch.p4runtime.failures import P4RuntimeFailed, WriteFailed
from olafswitch.p4runtime.session import Session
from tests.p4runtime import test_tables
from tests.p4runtime.conftest import Pushed
from tests.p4runtime.controller import SECONDS, PlainController
from tests.p4runtime.in_verilog import in_verilog
from tests.p4runtime.test_native import (
    EXACT,
    _frame,
    test_arrays,
    test_entries_steer_packets_and_count_them,
    test_mutated_messages_between_packets,
    test_priorities_and_prefixes,
    test_reconcile_keeps_what_packets_meet,
    test_what_the_program_declares_is_read,
)
from tests.p4runtime.test_tables import (
    test_a_full_table,
    test_an_update_without_an_entity,
    test_batches_that_the_data_plane_must_see_at_once,
    test_padded_values_are_accepted_and_read_back_canonical,
    test_reads_give_back_what_was_written,
    test_reads_select_by_every_filter,
)

SHARED = (
    test_a_full_table,
    test_an_update_without_an_entity,
    test_arrays,
    test_batches_that_the_data_plane_must_see_at_once,
    test_entries_steer_packets_and_count_them,
    test_mutated_messages_between_packets,
    test_padded_values_are_accepted_and_read_back_canonical,
    test_priorities_and_prefixes,
    test_reads_give_back_what_was_written,
    test_reads_select_by_every_filter,
    test_reconcile_keeps_what_packets_meet,
    test_what_the_program_declares_is_read,
)
"""Tests that are collected here, too, with this module's fixtures."""


@pytest.fixture
def switch() -> Iterator[SimulatedSwitch]:
    made = in_verilog()
    yield made
    made.close()


@pytest.fixture
def program(switch: SimulatedSwitch) -> Pushed:
    return Pushed(switch.p4info, json.dumps(switch.about).encode())


@pytest.fixture
def device(switch: SimulatedSwitch) -> SimulatedSwitch:
    return switch


@pytest.fixture
def plane(switch: SimulatedSwitch, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Provide a plane whose state are the commands that the module was given."""
    given, command = list[object](), switch.driver.command

    def record(*words: Any) -> None:
        given.append(words)
        command(*words)

    monkeypatch.setattr(switch.driver, "command", record)
    return SimpleNamespace(copy_state=given.copy)


@pytest.mark.parametrize("name", sorted(test_tables.WRONG.keys() - {"default-only action", "meter colours"}))
def test_what_is_wrong_is_refused_without_a_command(primary: PlainController, plane: Any, name: str) -> None:
    """Rows about NoAction's number there, or about a meter, are left out."""
    test_tables.test_what_is_wrong_is_refused_and_changes_nothing(primary, plane, name)


def _ranged(low: int, high: int, priority: int) -> TableEntry:
    return TableEntry("ternary", {"port": Range(low, high)}, "forward", {"port": 2, "label": 0}, priority)


def test_packet_outs_and_packet_ins(session: Session) -> None:
    session.packet_out(b"hello", {"egress_port": 5})
    assert next(session.packets(timeout=SECONDS)) == PacketIn(
        b"hello", {"ingress_port": 5, "reason": 0, "padding": 0}
    )


def test_the_default_actions_of_tables_change(session: Session, switch: SimulatedSwitch) -> None:
    for port, table in ((2, "keyless"), (3, "preset")):
        session.modify(DefaultAction(table, "forward", {"port": port, "label": 0}))
        assert switch.process(0, _frame()) == [(port, _frame())]


def test_a_range_that_has_no_room_leaves_nothing_behind(session: Session, switch: SimulatedSwitch) -> None:
    """The table has 64 places, 60 of them taken; the range needs 30."""
    session.insert(*(_ranged(port, port, port) for port in range(0x4000, 0x4000 + 60)))
    with pytest.raises(WriteFailed) as caught:
        session.insert(_ranged(1, 0xFFFE, 7))
    assert [each.code for each in caught.value.failures] == ["RESOURCE_EXHAUSTED"]
    assert switch.process(0, _frame(port=5)) == [(0, _frame(port=5))]
    session.insert(*(_ranged(port, port, port) for port in range(0x5000, 0x5000 + 4)))
    assert switch.process(0, _frame(port=0x5003)) == [(2, _frame(port=0x5003))]


def test_no_frame_that_leaves_after_a_write_saw_the_state_before(
    session: Session, switch: SimulatedSwitch
) -> None:
    session.insert(EXACT)
    frame = _frame()
    switch.sink.pause(0.8)
    for _ in range(100):
        switch.offer(3, frame)
    while not switch.sink.frames():
        switch.bench.run_cycles(10)
    session.modify(TableEntry("exact", EXACT.match, "forward", {"port": 6, "label": 1}))
    before = [out.user[0] for out in switch.sink.frames()]
    after = [out.user[0] for out in switch.received()]
    assert 4 in before and len(after) > 20 and set(after) == {6}


def test_another_module_is_refused(agent: AgentServer, program: Pushed) -> None:
    with Session.connect(agent.address, 1, election_id=10) as session:
        for config, why in (
            (b"control", "not a module's"),
            (b'{"digest": "0"}', "of a module with digest 0"),
        ):
            with pytest.raises(P4RuntimeFailed, match=why):
                session.push(program.p4info, config)
