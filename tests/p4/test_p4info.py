"""P4Info: ids, names, match kinds and attached externs."""

from pathlib import Path

import pytest

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.p4info.ids import name_hash
from olafswitch.p4.switch.pipeline import prepare_pipeline
from olafswitch.p4runtime.dataplane import PipelineRefused
from olafswitch.p4runtime.protocol import p4info_pb2
from tests.p4.parts import compile_parts
from tests.p4.switches import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


def test_given_ids_are_kept() -> None:
    info = compile_program(ROOT / "p4src" / "vnp4_1.p4").p4info
    workers = next(table for table in info.tables if table.preamble.alias == "workers")
    assert workers.preamble.id == 0x02000001
    assert workers.preamble.name == "Vnp41Ingress.identify.workers"
    assert list(workers.direct_resource_ids) == [0x13000001]
    headers = {m.preamble.name: m for m in info.controller_packet_metadata}
    assert headers["packet_in"].metadata[0].bitwidth == 16


def test_other_ids_follow_from_names() -> None:
    assert name_hash("NoAction") & 0xFFFFFF == 0x445B37
    info = compile_program(PROGRAMS / "tables.p4", optimize="-O1").p4info
    for kind, prefix in (("tables", 0x02), ("actions", 0x01)):
        for item in getattr(info, kind):
            assert item.preamble.id == prefix << 24 | name_hash(item.preamble.name) & 0xFFFFFF


def test_match_kinds_and_scopes() -> None:
    info = compile_program(PROGRAMS / "tables.p4", optimize="-O1").p4info
    kinds = p4info_pb2.MatchField
    tables = {table.preamble.alias: table for table in info.tables}
    assert [f.match_type for f in tables["range_"].match_fields] == [kinds.RANGE, kinds.OPTIONAL]
    assert [f.match_type for f in tables["lpm_"].match_fields] == [kinds.EXACT, kinds.LPM]
    assert [f.name for f in tables["switched"].match_fields] == ["h.keys.$valid$", "nibble"]
    assert tables["own"].is_const_table and not tables["exact_"].is_const_table
    assert tables["own"].const_default_action_id and not tables["exact_"].const_default_action_id
    last = tables["lpm_"].action_refs[-1]
    assert last.scope == p4info_pb2.ActionRef.DEFAULT_ONLY
    assert last.id == 0x01000000 | 0x445B37


def test_what_is_attached() -> None:
    info = compile_program(PROGRAMS / "externs.p4", optimize="-O1").p4info
    spread = next(table for table in info.tables if table.preamble.alias == "spread")
    assert len(spread.match_fields) == 1
    assert (
        info.action_profiles[0].with_selector
        and spread.implementation_id == info.action_profiles[0].preamble.id
    )
    assert {r.type_spec.bitstring.bit.bitwidth for r in info.registers} == {32, 100}
    assert info.meters[0].spec.unit == p4info_pb2.MeterSpec.PACKETS
    assert info.direct_meters[0].spec.unit == p4info_pb2.MeterSpec.BYTES
    assert [m.name for m in info.type_info.structs["news_t"].members] == ["index", "value"]


def test_a_p4info_of_another_program_is_refused() -> None:
    tables = compile_program(PROGRAMS / "tables.p4", optimize="-O1")
    code = compile_program(PROGRAMS / "code.p4", optimize="-O1")
    with pytest.raises(PipelineRefused, match="does not belong"):
        prepare_pipeline(tables.p4info, code.device_config, "-O1")
    changed = p4info_pb2.P4Info()
    changed.CopyFrom(tables.p4info)
    changed.tables[0].match_fields[0].bitwidth += 1
    with pytest.raises(PipelineRefused, match="differs"):
        prepare_pipeline(changed, tables.device_config, "-O1")
    more = p4info_pb2.P4Info()
    more.CopyFrom(tables.p4info)
    more.actions.add().preamble.id = 0x01FFFFFF
    prepare_pipeline(more, tables.device_config, "-O1")
    for config in (b'{"program": []}', b"\xff\xfe", b"control c( {"):
        with pytest.raises(PipelineRefused):
            prepare_pipeline(tables.p4info, config, "-O1")


def test_the_same_program_is_compiled_once() -> None:
    first = compile_program(PROGRAMS / "code.p4", optimize="-O1")
    second = compile_program(PROGRAMS / "code.p4", optimize="-O1")
    assert not second.fresh and first.library == second.library


HIDDEN = """
    direct_counter(CounterType.packets) hits;
    @hidden action inside(bit<8> x) { m.m = x; }
    action seen(bit<8> x) { m.m = x; }
    @hidden table secret { key = { h.h.v: exact; } actions = { inside; seen; } counters = hits; }
    table shown { key = { h.h.v: exact @hidden; } actions = { inside; seen; } default_action = inside(5); }
"""


def test_what_is_hidden_is_left_out_and_keeps_its_id() -> None:
    """As in p4c, a hidden name counts when aliases are made, and tables still refer to it."""
    info = compile_parts(local=HIDDEN, body="secret.apply(); shown.apply();")
    assert [table.preamble.alias for table in info.tables] == ["shown"]
    assert [action.preamble.alias for action in info.actions] == ["NoAction", "seen"]
    assert not info.direct_counters
    (table,) = info.tables
    hidden = 0x01000000 | name_hash("MyIngress.inside") & 0xFFFFFF
    assert [ref.id for ref in table.action_refs] == [hidden, info.actions[1].preamble.id]
    assert table.initial_default_action.action_id == hidden
    assert list(table.match_fields[0].annotations) == ["@hidden"]


def test_a_program_of_hidden_tables_has_no_type_info() -> None:
    table = "@hidden table secret { actions = { NoAction; %s } default_action = NoAction(); }"
    action = "@hidden action inside(bit<8> x) { m.m = x; } action seen(bit<8> x) { m.m = x; }"
    for listed in ("", "inside;"):
        info = compile_parts(local=action + table % listed, body="secret.apply();")
        assert not info.tables and not info.HasField("type_info")
    for local in (action + table % "seen;", table % "" + "table shown { actions = { NoAction; } }"):
        body = "secret.apply();" + (" shown.apply();" if "shown" in local else "")
        assert compile_parts(local=local, body=body).HasField("type_info")


def test_hidden_headers_and_fields_are_no_packet_metadata() -> None:
    text = """@controller_header("packet_in") header in_t { bit<8> port; @hidden bit<8> pad; bit<8> why; }
        @hidden @controller_header("packet_out") header out_t { bit<8> port; }"""
    (header,) = compile_parts(top=text).controller_packet_metadata
    assert header.preamble.name == "packet_in"
    assert [(field.id, field.name) for field in header.metadata] == [(1, "port"), (3, "why")]
