"""STF as p4c's own runner reads it: names, numbers and widths; output is compared frame by frame."""

import random
from collections.abc import Iterator

import pytest

from olafswitch.p4.compiler import Program, compile_text
from olafswitch.p4.stf.commands import Add, SetDefault, Unreadable, read_commands
from olafswitch.p4.stf.play import play_file
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_text
from tests.p4.parts import parts_text

_KINDS = ("exact", "lpm", "ternary", "range", "optional")
_TABLES = " ".join(
    f'table {kind}_t {{ key = {{ h.h.v: {kind} @name("k"); }} actions = {{ to; NoAction; }} size = 4; }}'
    for kind in _KINDS
)
_LOCAL = f"""counter(4, CounterType.packets) hits; register<bit<8>>(4) cells;
action to(bit<9> p) {{ s.egress_spec = p; }} {_TABLES}"""
_BODY = "mark_to_drop(s); hits.count(0); " + " ".join(f"{kind}_t.apply();" for kind in _KINDS)


@pytest.fixture(scope="module")
def program() -> Program:
    text = parts_text(state="packet.extract(h.h);", local=_LOCAL, body=_BODY)
    return compile_text(preprocess_text(text, "case.p4"), optimize="-O0")


@pytest.fixture
def switch(program: Program) -> Iterator[NativeSwitch]:
    made = NativeSwitch(optimize="-O0")
    made.commit(made.prepare(program.p4info, program.device_config))
    yield made
    made.close()


@pytest.mark.parametrize(
    "text",
    [
        'add "MyIngress.exact_t" "k":0x05 "MyIngress.to"("p":0x001)\npacket 0 05\nexpect 1 05$',
        "add\texact_t\tk:0x05\tto(p:1)\npacket\t0\t05\nexpect\t1\t05 $",
        "add exact_t k : 5 to ( p : 1 ) = one\npacket 0 0 5\nexpect 1 *5",
        "add ternary_t 1 k:0b1 to(p:1)\npacket 0 ff\npacket 0 fe\nexpect 1 ff",  # upper bits are free
        "add ternary_t 1 k:0x0* to(p:1)\npacket 0 0f\npacket 0 1f\nexpect 1 0f",
        "add lpm_t k:0x5* to(p:1)\npacket 0 5f\npacket 0 6f\nexpect 1 5f",
        "add lpm_t k:0b0101 to(p:1)\nadd lpm_t k:0x60/4 to(p:2)\npacket 0 6f\nexpect 2",
        "add optional_t 1 k:* to(p:1)\npacket 0 77\nexpect 1 77",
        "add optional_t 1 k:0x** to(p:1)\npacket 0 77\nexpect 1 77",
        "add range_t 1 k:0x10->0x20 to(p:1)\npacket 0 18\npacket 0 28\nexpect 1",
        "setdefault exact_t to(p:3)\npacket 0 00\nexpect 3 00$",
        "add exact_t k:5 to(p:1)\nremove all\npacket 0 05",
        "packet 0 00\ncheck_counter hits(0) packets == 1",
        "counter_write hits 0 7 0\ncheck_counter hits(0) packets == 7",
        "mc_mgrp_create 1\nmc_mgrp_create 1\nmc_node_create 3 1 2\nmc_node_update 0 4\nmc_node_associate 1 0",
    ],
)
def test_a_file_that_p4cs_runner_takes(switch: NativeSwitch, program: Program, text: str) -> None:
    assert play_file(switch, program.p4info, text) == ""


def test_a_name_in_quotes_may_hold_any_mark() -> None:
    """P4Testgen writes names as the P4Info has them: a key's name is any text."""
    draw, marks = random.Random(3), " #&:(),=<>./-*$[]x"
    for _ in range(300):
        table, key, action, param = ("".join(draw.choices(marks, k=draw.randint(1, 6))) for _ in range(4))
        line = f'add "{table}" 7 "{key}":0x5&&&0xf\t"{action}"("{param}" : 3)=one # "note'
        assert read_commands(line) == [
            (1, Add(table, 7, ((key, "0x5&&&0xf"),), action, ((param, "3"),), "one"))
        ]
        assert read_commands(f'setdefault "{table}" "{action}"() # {key}') == [
            (1, SetDefault(table, action, ()))
        ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("add exact_t k:5 to(p:0x200)", "parameter p: 0x200 does not fit in 9 bits"),
        ("add exact_t k:0x100 to(p:1)", "key field k: 0x100 does not fit in 8 bits"),
        ("add exact_t k:-1 to(p:1)", "key field k: -0x1 does not fit"),
        ("add exact_t k:* to(p:1)", r"\* can stand in ternary"),
        ("add range_t 1 k:1->0x100 to(p:1)", "does not fit in 8 bits"),
        ("add range_t 1 k:* to(p:1)", r"\* can stand in ternary"),
        ("add ternary_t 1 k:8* to(p:1)", "needs hex, octal or binary digits"),
        ("add ternary_t 1 k:1&&&0x1ff to(p:1)", "does not fit in 8 bits"),
        ("add ternary_t 1 k:0x1ff to(p:1)", "does not fit in 8 bits"),
        ("add ternary_t -1 k:1 to(p:1)", "priority: -0x1"),
        ("add optional_t 1 k:0x1* to(p:1)", r"\* can stand in ternary"),
        ("add lpm_t k:0/9 to(p:1)", "a prefix of 9 bits, of 8"),
        ("add lpm_t k:0/-1 to(p:1)", "a prefix of -1 bits"),
        ("add exact_t k:5 to()", "given were none"),
        ("add exact_t k:5 to(p:)", r"a name or a number is missing before \)"),
        ("add exact_t k:5 to(p:1)\nadd exact_t k:5 to(p:2)", "table exact_t has this entry already"),
        ("add exact_t q:5 to(p:1)", "has no key q"),
        ("add exact_t k:5 from(p:1)", "has no action from"),
        ('add "exact_t k:5 to(p:1)', "is missing"),
        ("add nowhere k:5 to(p:1)", "no table named nowhere"),
        ("\n".join(f"add exact_t k:{n} to(p:1)" for n in range(5)), "full"),
        ("mc_node_associate 5 0", "multicast group 5 does not exist"),
        ("mc_mgrp_create 5\nmc_node_associate 5 0", "multicast node 0 does not exist"),
        ("register_write cells 4 1", "has no cell 4"),
        ("register_write cells 0 256", "does not fit in 8 bits"),
        ("check_counter hits($none) packets == 1", "no entry is named none"),
        ("check_counter hits(4) packets == 1", "has no cell 4"),
        ("mirroring_add x 1", "'x' is not a number"),
        ("mirroring_add 1", "needs 2 arguments"),
        ("packet 512 00", "port: 0x200 does not fit in 9 bits"),
        ("packet 0 0", "non-hexadecimal|hexadecimal"),
        ("expect 0 0g", "is no frame"),
        ("remove one", "remove is not known"),
        ("add exact_t k:5 to(p:1) = one two", "two is too much"),
        ("check_counter hits(0) frames == 1", "frames is neither packets nor bytes"),
        ("%", " is not known"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_with_its_number(
    switch: NativeSwitch, program: Program, text: str, why: str
) -> None:
    with pytest.raises(Unreadable, match=rf"^line \d+: .*({why})"):
        play_file(switch, program.p4info, text)


@pytest.mark.parametrize(
    "text",
    [
        "setdefault exact_t to(p:1)\npacket 0 05",  # nothing expects the frame that leaves
        "expect 1",
        "packet 0 05\nexpect 1 05",
        "setdefault exact_t to(p:1)\npacket 0 05\nexpect 1 $",
        "setdefault exact_t to(p:1)\npacket 0 05\nexpect 1\nexpect 1",
        "setdefault exact_t to(p:1)\npacket 0 0506\nexpect 1 05$",
    ],
)
def test_frames_and_expectations_must_be_as_many_and_alike(
    switch: NativeSwitch, program: Program, text: str
) -> None:
    assert play_file(switch, program.p4info, text).startswith("port 1: ")
