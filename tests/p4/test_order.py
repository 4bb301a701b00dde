"""The order of evaluation: random programs with side effects everywhere, against a reference interpreter."""

import random
from collections.abc import Callable

import pytest

from olafswitch.p4.compiler import compile_text
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4runtime.program import ProgramInfo
from tests.p4.reference import Interpreter

CELLS = 10
_OPERATORS = ("+", "-", "*", "&", "|", "^", "|+|", "|-|")
_FRAME = """#include <core.p4>
#include <v1model.p4>
header cell_t { bit<8> v; }
header in_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
struct hs { in_t i; cell_t[4] s; cell_t[%d] o; }
struct ms { bit<8> x; bit<8> y; }
struct pair { bit<8> first; bit<8> second; }
bit<8> bump(inout bit<8> v) { v = v + 1; return v; }
bit<8> take(in bit<8> a, in bit<8> b) { return a * 3 + b * 5; }
bit<8> swap(inout bit<8> p, inout bit<8> q) { bit<8> t = p; p = q + 1; q = t ^ 9; return p - q; }
bit<8> give(out bit<8> p, in bit<8> q) { p = q + 7; return q ^ 0x55; }
bit<8> mix(in bit<8> a, inout bit<8> b, in bit<8> c) { b = b + a; if (c > a) { return b; } return b * 3 + c; }
bool odd(inout bit<8> v) { v = v * 5 + 1; return (v & 2) == 2; }
pair both(inout bit<8> v, in bit<8> w) { v = v + w; return { second = v, first = w }; }
control Sub(in bit<8> x, inout bit<8> y, out bit<8> r) { apply { r = x * 16 + y; y = y + r; } }
parser P(packet_in b, out hs h, inout ms m, inout standard_metadata_t s) {
    state start { b.extract(h.i); transition accept; }
}
control V(inout hs h, inout ms m) { apply { } }
control I(inout hs h, inout ms m, inout standard_metadata_t s) {
    bit<8> t0 = 3; bit<8> t1 = 5; bit<8> t2 = 7; bit<8> t3 = 11; bit<8> kx = 0;
    Sub() sub;
    action act(in bit<8> x, inout bit<8> y, in bit<8> z) { t3 = t3 + x * 16 + z; y = y + x; }
    action hit(bit<8> v) { t2 = t2 + v; }
    action miss() { t2 = t2 ^ bump(t0); }
    table keyed {
        key = {
            (bump(kx) & 3): exact @name("p"); kx: exact @name("q"); (kx + bump(kx)) & 1: exact @name("r");
        }
        actions = { hit; miss; }
        default_action = miss();
        const entries = {
            (1, 1, 1): hit(0x20); (3, 3, 1): hit(0x31); (2, 2, 1): hit(0x42); (0, 4, 1): hit(7);
        }
    }
    apply {
        s.egress_spec = 1;
        h.s[0].setValid(); h.s[1].setValid(); h.s[2].setValid(); h.s[3].setValid();
        h.s[0].v = h.i.d; h.s[1].v = 1; h.s[2].v = 2; h.s[3].v = 3;
        t0 = h.i.a; t1 = h.i.b; t2 = h.i.c;
%s
    }
}
control E(inout hs h, inout ms m, inout standard_metadata_t s) { apply { } }
control C(inout hs h, inout ms m) { apply { } }
control D(packet_out b, in hs h) { apply { b.emit(h.s); b.emit(h.o); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


class Effects:
    """A maker of statements whose expressions change values that others read."""

    def __init__(self, seed: int, loops: bool) -> None:
        """Create the maker; ``loops`` adds loops whose number of rounds is known at run time only."""
        self.r = random.Random(seed)
        self.loops = loops

    def program(self, statements: int = 24) -> str:
        lines = [self.statement(number) for number in range(statements)]
        shown = ["t0", "t1", "t2", "t3", "h.i.a", "h.i.b", "h.i.c", "h.i.d", "kx", "m.x"]
        lines += [f"h.o[{at}].setValid(); h.o[{at}].v = {what};" for at, what in enumerate(shown)]
        return _FRAME % (CELLS, "\n".join(f"        {line}" for line in lines))

    def lvalue(self, depth: int = 1) -> str:
        plain = ["t0", "t1", "t2", "t3", "h.i.a", "h.i.b", "h.i.c", "h.i.d", "m.x"]
        if depth > 0 and self.r.random() < 0.35:
            return f"h.s[{self.bits(depth - 1)} & 3].v"
        return self.r.choice(plain)

    def args(self, **values: str) -> str:
        """Write arguments by place, or by name in any order."""
        if self.r.random() < 0.5:
            return ", ".join(values.values())
        named = [f"{name} = {value}" for name, value in values.items()]
        self.r.shuffle(named)
        return ", ".join(named)

    def bits(self, depth: int) -> str:
        r, inner = self.r, depth - 1
        if depth <= 0:
            return r.choice([self.lvalue(0), f"8w{r.randrange(256)}", f"bump({self.lvalue(0)})"])
        makers: list[Callable[[], str]] = [
            lambda: f"bump({self.lvalue(depth)})",
            lambda: f"take({self.args(a=self.bits(inner), b=self.bits(inner))})",
            lambda: f"swap({self.args(p=self.lvalue(depth), q=self.lvalue(depth))})",
            lambda: f"give({self.args(p=self.lvalue(depth), q=self.bits(inner))})",
            lambda: f"mix({self.args(a=self.bits(inner), b=self.lvalue(depth), c=self.bits(inner))})",
            lambda: f"({self.bits(inner)} {r.choice(_OPERATORS)} {self.bits(inner)})",
            lambda: f"({self.truth(inner)} ? {self.bits(inner)} : {self.bits(inner)})",
            lambda: f"({self.bits(inner)}[3:0] ++ {self.bits(inner)}[7:4])",
            lambda: f"({self.bits(inner)} {r.choice(['<<', '>>'])} ({self.bits(inner)} & 7))",
            lambda: f"((bit<8>)(bit<4>){self.bits(inner)})",
            lambda: f"(~{self.bits(inner)})",
            lambda: f"both({self.args(v=self.lvalue(depth), w=self.bits(inner))})"
                    f".{r.choice(['first', 'second'])}",
            lambda: self.lvalue(depth),
        ]  # fmt: skip
        return r.choice(makers)()

    def truth(self, depth: int) -> str:
        r, inner = self.r, depth - 1
        if depth <= 0:
            return f"odd({self.lvalue(0)})"
        return r.choice([
            f"({self.bits(inner)} {r.choice(['==', '!=', '<', '<=', '>', '>='])} {self.bits(inner)})",
            f"({self.truth(inner)} {r.choice(['&&', '||'])} {self.truth(inner)})",
            f"(!{self.truth(inner)})", f"odd({self.lvalue(depth)})",
        ])  # fmt: skip

    def initializer(self, depth: int) -> str:
        parts = [f"first = {self.bits(depth)}", f"second = {self.bits(depth)}"]
        self.r.shuffle(parts)
        return (
            "{"
            + (", ".join(parts) if self.r.random() < 0.7 else f"{self.bits(depth)}, {self.bits(depth)}")
            + "}"
        )

    def statement(self, number: int, nested: bool = False) -> str:
        r, depth = self.r, self.r.choice([1, 2, 2, 3])
        makers: list[Callable[[], str]] = [
            lambda: f"{self.lvalue(depth)} = {self.bits(depth)};",
            lambda: f"{self.lvalue(depth)} {r.choice(['+=', '-=', '^=', '*='])} {self.bits(depth)};",
            lambda: f"{self.lvalue(depth)}[5:2] = {self.bits(depth)}[7:4];",
            lambda: f"act({self.args(x=self.bits(depth), y=self.lvalue(depth), z=self.bits(depth))});",
            lambda: f"sub.apply({self.args(x=self.bits(depth), y=self.lvalue(depth), r=self.lvalue(1))});",
            lambda: f"if ({self.truth(depth)}) {{ {self.statement(number, True)} }}"
                    f" else {{ {self.statement(number, True)} }}",
            lambda: f"switch ({self.bits(depth)} & 3) {{ 1: {{ {self.statement(number, True)} }}"
                    f" 2: 0: {{ {self.statement(number, True)} }} default: {{ m.x = m.x + 1; }} }}",
            lambda: f"{{ pair z = {self.initializer(depth)}; t1 = t1 + z.first * 7 + z.second; }}",
            lambda: f"{{ pair z = (pair) {self.initializer(depth)}; t1 = t1 ^ z.first; m.x = z.second; }}",
            lambda: f"{{ pair z = both({self.args(v=self.lvalue(depth), w=self.bits(depth))});"
                    f" z = {{ second = z.first, first = bump(z.second) }}; t0 = z.first - z.second; }}",
            lambda: f"if (both({self.args(v=self.lvalue(depth), w=self.bits(depth))})"
                    f" == (pair) {self.initializer(1)}) {{ m.x = m.x ^ 0x40; }}",
            lambda: f"take({self.args(a=self.bits(depth), b=self.bits(depth))});",
        ]  # fmt: skip
        if self.loops and not nested:
            makers.append(lambda: f"for (bit<8> n = 0; (n + bump(m.x) - m.x) < 2; n += bump(t1) - t1 + 1)"
                                  f" {{ {self.statement(number, True)} }}")  # fmt: skip
        if number % 12 == 5 and not nested:
            return r.choice(["keyed.apply();", "if (keyed.apply().hit) { t1 = bump(t0) + t1; }"])
        return r.choice(makers)()


def _expected_frame(text: str, frame: bytes) -> bytes:
    made = Interpreter(parse_program(text))
    ingress = made.top.declared["I"]
    scope, hs = type(made.top)(made.top), made.zero(ingress.params[0].type)
    for name, byte in zip("abcd", frame, strict=False):
        hs["i"][name] = (byte, 8)
    scope.values = {"h": hs, "m": {"x": (0, 8), "y": (0, 8)}, "s": {"egress_spec": (0, 9)}}
    made.control(ingress, scope)
    return bytes(each["v"][0] for each in (*hs["s"], *hs["o"])) + frame[4:]


def _random_frames(seed: int, count: int) -> list[bytes]:
    r = random.Random(seed)
    return [bytes(4), *(r.randbytes(4) + b"rest" for _ in range(count))]


def _make_switches(text: str, verilog: bool) -> list[NativeSwitch | SimulatedSwitch]:
    program = compile_text(text, optimize="-O0")
    native = NativeSwitch(optimize="-O0")
    native.commit(native.prepare(program.p4info, program.device_config))
    if not verilog:
        return [native]
    return [native, SimulatedSwitch.of_text(text, ProgramInfo(program.p4info), quick=True)]


def _check_program(seed: int, verilog: bool, statements: int = 24, frames: int = 20) -> None:
    text = preprocess_text(Effects(seed, loops=not verilog).program(statements), "case.p4")
    for switch in _make_switches(text, verilog):
        for frame in _random_frames(seed, frames):
            assert switch.process(0, frame) == [(1, _expected_frame(text, frame))], (switch, frame.hex())
        switch.close()


@pytest.mark.parametrize("seed", range(4))
def test_effects_happen_in_the_order_in_which_they_are_written(seed: int) -> None:
    _check_program(seed, verilog=False)


@pytest.mark.parametrize("seed", [100])
def test_verilog_has_the_same_order(seed: int) -> None:
    _check_program(seed, verilog=True, statements=8, frames=10)
