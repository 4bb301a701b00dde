"""A device that has only tables and replication, as a vendor's driver may offer.

Missing facilities are UNIMPLEMENTED, and everything else works, also across a change of pipeline.
"""

from typing import Any, NoReturn

import pytest

from olafswitch.p4runtime.dataplane import P4Info, ReplicationLimits, Unsupported
from tests.p4runtime.controller import PlainController, parse_entity
from tests.p4runtime.memory_plane import MemoryPlane
from tests.p4runtime.messages import ENTRY


def _refuse(*arguments: object) -> NoReturn:
    raise Unsupported("this test's device has tables only")


_missing: Any = _refuse  # this replaces methods of any type


class PlainPlane(MemoryPlane):
    replication = ReplicationLimits(port=3, instance=0, multicast_group=7, clone_session=0)
    direct_counter = set_direct_counter = counter = set_counter = _missing
    set_direct_meter = set_meter = register = set_register = _missing
    idle_ns = set_clone_session = set_value_set = packet_out = _missing


@pytest.fixture
def device() -> PlainPlane:
    return PlainPlane()


def test_entries_are_written_read_and_deleted(primary: PlainController) -> None:
    assert primary.insert(ENTRY) == ["OK"]
    assert primary.read("table_entry { }") == [parse_entity(ENTRY)]
    assert primary.delete(ENTRY) == ["OK"]


def test_what_it_lacks_is_unimplemented(primary: PlainController) -> None:
    assert primary.insert(ENTRY) == ["OK"]
    assert (
        primary.read_codes(
            "counter_entry { }", "register_entry { }", "table_entry { table_id: 0x02000001 counter_data { } }"
        )
        == ["UNIMPLEMENTED"] * 3
    )
    assert (
        primary.modify(
            "counter_entry { counter_id: 0x12000001 data { packet_count: 1 } }",
            "meter_entry { meter_id: 0x14000001 config { cir: 1 pir: 1 } }",
        )
        == ["UNIMPLEMENTED"] * 2
    )


def test_its_own_limits_of_replication_hold(primary: PlainController) -> None:
    def group(id: int, port: int) -> str:
        replicas = f"replicas {{ egress_port: {port} }}"
        entry = f"multicast_group_entry {{ multicast_group_id: {id} {replicas} }}"
        return f"packet_replication_engine_entry {{ {entry} }}"

    changes = [("INSERT", group(id, port)) for id, port in ((7, 3), (8, 3), (6, 4))]
    assert primary.write(*changes) == ["OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT"]


@pytest.mark.parametrize("action", ["VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"])
def test_the_pipeline_changes(primary: PlainController, p4info: P4Info, action: str) -> None:
    assert primary.insert(ENTRY) == ["OK"]
    assert primary.set_pipeline(action, p4info) == "OK"
    kept = [parse_entity(ENTRY)] if action == "RECONCILE_AND_COMMIT" else []
    assert primary.read("table_entry { }") == kept
