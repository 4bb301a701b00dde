"""Random v1model programs of expressions, with what Python computes for each frame."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = Mapping[str, int]
FIELDS = {"a": 8, "b": 8, "c": 16, "d": 32, "e": 3, "f": 5}
FRAME_BYTES = sum(FIELDS.values()) // 8
RESULTS = 12
"""Results of 32 bits in front of the fields."""
WIDTHS = (1, 3, 5, 8, 13, 16, 32, 40)
MARK = "/*here*/"
"""Where a broken program has its mistake."""

PROGRAM = """#include <core.p4>
#include <v1model.p4>
header in_t {{ {fields} }}
header out_t {{ {results} }}
struct headers_t {{ in_t i; out_t o; }}
struct metadata_t {{ }}
{functions}
bit<16> never_called(in bit<16> x, in bit<8> y) {{ {mark} return x + (bit<16>) y; }}
control NeverMade(inout bit<16> x, in bit<8> y) {{ apply {{ {mark} x = never_called(x, y); }} }}
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.i); transition accept; }}
}}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    @hidden table nothing {{ actions = {{ NoAction; }} const default_action = NoAction(); }}
    apply {{
        bit<16> x = h.i.c;
        bit<8> y = h.i.a;
        {mark}
        nothing.apply();
        h.o.setValid();
        {body}
        s.egress_spec = 1;
    }}
}}
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{ apply {{ }} }}
control MyVerify(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control MyCompute(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control MyDeparser(packet_out packet, in headers_t h) {{ apply {{ packet.emit(h.o); packet.emit(h.i); }} }}
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
"""
MISTAKES = ("x = nowhere;", "x = y;", "y = (bit<8>) (x == y ? x : x);", "y = 8w1 ++ y;", "x = 16s1;")


@dataclass(frozen=True)
class Expr:
    """An expression as written, and its value, without a sign, of the fields' values."""

    text: str
    value: Callable[[Values], int]


def _as_signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


class Generator:
    """Random expressions and programs, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = {name: (f"h.i.{name}", width) for name, width in FIELDS.items()}
        """What an expression can read: as written, and its width."""

    def generate_program(self, mistake: bool = False) -> tuple[str, list[Expr]]:
        """Generate a program and its results' expressions; with ``mistake`` it breaks a rule in one place."""
        results = [self.bits(32, 4) for _ in range(RESULTS)]
        text = PROGRAM.format(
            fields=" ".join(f"bit<{width}> {name};" for name, width in FIELDS.items()),
            results=" ".join(f"bit<32> r{at};" for at in range(RESULTS)),
            functions=f"bit<32> chosen(in bit<8> x, in bit<32> y) {{ return {CHOSEN}; }}",
            body="\n        ".join(f"h.o.r{at} = {expr.text};" for at, expr in enumerate(results)),
            mark=MARK,
        )
        places = text.split(MARK)
        if mistake:
            places[self.random.randrange(len(places) - 1)] += self.random.choice(MISTAKES)
        return "".join(places), results

    def bits(self, width: int, depth: int) -> Expr:
        """Generate an expression of ``bit<width>``."""
        if depth == 0:
            return self._generate_leaf(width)
        kinds = [
            self._generate_binary,
            self._generate_unary,
            self._generate_shift,
            self._generate_mux,
            self._generate_cast,
            self._of_signed,
            self._generate_slice,
        ]
        if width > 1:
            kinds.append(self._generate_concatenation)
        if width == 32:
            kinds.append(self._generate_call)
        return self.random.choice(kinds)(width, depth - 1)

    def _generate_leaf(self, width: int) -> Expr:
        mask = (1 << width) - 1
        if self.random.random() < 0.3:
            number = self.random.choice((0, 1, mask, self.random.getrandbits(width)))
            return Expr(f"{width}w{number}", lambda _: number)
        name = self.random.choice(list(self.names))
        text, own = self.names[name]
        return Expr(text if own == width else f"(bit<{width}>) {text}", lambda values: values[name] & mask)

    def _generate_binary(self, width: int, depth: int) -> Expr:
        left, right = self.bits(width, depth), self.bits(width, depth)
        mask = (1 << width) - 1
        operators: dict[str, Callable[[int, int], int]] = {
            "+": lambda x, y: x + y & mask, "-": lambda x, y: x - y & mask, "*": lambda x, y: x * y & mask,
            "&": int.__and__, "|": int.__or__, "^": int.__xor__,
            "|+|": lambda x, y: min(x + y, mask), "|-|": lambda x, y: max(x - y, 0),
        }  # fmt: skip
        sign, compute = self.random.choice(list(operators.items()))
        return Expr(f"({left.text} {sign} {right.text})", lambda v: compute(left.value(v), right.value(v)))

    def _generate_unary(self, width: int, depth: int) -> Expr:
        operand, mask = self.bits(width, depth), (1 << width) - 1
        if self.random.random() < 0.5:
            return Expr(f"(~{operand.text})", lambda v: ~operand.value(v) & mask)
        return Expr(f"(-{operand.text})", lambda v: -operand.value(v) & mask)

    def _generate_shift(self, width: int, depth: int) -> Expr:
        operand, by, mask = self.bits(width, depth), self.bits(3, depth), (1 << width) - 1
        if self.random.random() < 0.5:
            return Expr(f"({operand.text} << {by.text})", lambda v: operand.value(v) << by.value(v) & mask)
        return Expr(f"({operand.text} >> {by.text})", lambda v: operand.value(v) >> by.value(v))

    def _generate_mux(self, width: int, depth: int) -> Expr:
        test, yes, no = self.generate_truth(depth), self.bits(width, depth), self.bits(width, depth)
        text = f"({test.text} ? {yes.text} : {no.text})"
        return Expr(text, lambda v: yes.value(v) if test.value(v) else no.value(v))

    def _generate_cast(self, width: int, depth: int) -> Expr:
        """Generate a cast of a truth value, or of bits of another width, conditionals among them."""
        if width == 1:
            truth = self.generate_truth(depth)
            return Expr(f"(bit<1>) ({truth.text})", truth.value)
        other, mask = self.random.choice(WIDTHS), (1 << width) - 1
        inner = (
            self._generate_mux(other, depth - 1)
            if depth and self.random.random() < 0.5
            else self.bits(other, depth)
        )
        return Expr(f"(bit<{width}>) {inner.text}", lambda v: inner.value(v) & mask)

    def _of_signed(self, width: int, depth: int) -> Expr:
        """Generate bits whose sign another width extends or cuts."""
        other = self.random.choice([each for each in WIDTHS if each > 1])
        inner, mask = self.bits(other, depth), (1 << width) - 1
        if width == 1:
            return Expr(f"({inner.text})[{other - 1}:{other - 1}]", lambda v: inner.value(v) >> (other - 1))
        text = f"(bit<{width}>) (int<{width}>) (int<{other}>) {inner.text}"
        return Expr(text, lambda v: _as_signed(inner.value(v), other) & mask)

    def _generate_slice(self, width: int, depth: int) -> Expr:
        other = self.random.choice([each for each in WIDTHS if each >= width])
        low = self.random.randint(0, other - width)
        inner, mask = self.bits(other, depth), (1 << width) - 1
        return Expr(f"({inner.text})[{low + width - 1}:{low}]", lambda v: inner.value(v) >> low & mask)

    def _generate_concatenation(self, width: int, depth: int) -> Expr:
        below = self.random.randint(1, width - 1)
        high, low = self.bits(width - below, depth), self.bits(below, depth)
        return Expr(f"({high.text} ++ {low.text})", lambda v: high.value(v) << below | low.value(v))

    def _generate_call(self, width: int, depth: int) -> Expr:
        x, y = self.bits(8, depth), self.bits(32, depth)
        return Expr(f"chosen({x.text}, {y.text})", lambda v: choose_value(x.value(v), y.value(v)))

    def generate_truth(self, depth: int) -> Expr:
        """Generate an expression of ``bool``."""
        if depth == 0 or self.random.random() < 0.6:
            return self._generate_comparison(depth)
        left, right = self.generate_truth(depth - 1), self.generate_truth(depth - 1)
        if self.random.random() < 0.3:
            bit = self._generate_mux(1, depth - 1)
            return Expr(f"(bool) {bit.text}", bit.value)
        sign, both = self.random.choice((("&&", all), ("||", any)))
        text = f"({left.text} {sign} !{right.text})"
        return Expr(text, lambda v: int(both((left.value(v), not right.value(v)))))

    def _generate_comparison(self, depth: int) -> Expr:
        width = self.random.choice(WIDTHS)
        left, right = self.bits(width, depth), self.bits(width, depth)
        sign, holds = self.random.choice(
            (("<", int.__lt__), ("<=", int.__le__), ("==", int.__eq__), ("!=", int.__ne__))
        )
        if width > 1 and self.random.random() < 0.5:
            text = f"((int<{width}>) {left.text} {sign} (int<{width}>) {right.text})"
            return Expr(
                text,
                lambda v: int(holds(_as_signed(left.value(v), width), _as_signed(right.value(v), width))),
            )
        return Expr(f"({left.text} {sign} {right.text})", lambda v: int(holds(left.value(v), right.value(v))))


CHOSEN = "x > 100 ? y - (bit<32>) x : (bit<32>) (x < 8w50 ? x : y[7:0])"


def choose_value(x: int, y: int) -> int:
    """Compute the programs' function ``chosen``."""
    return y - x & 0xFFFFFFFF if x > 100 else x if x < 50 else y & 0xFF


def expected_frame(frame: bytes, results: list[Expr]) -> bytes:
    """Compute what the program sends for a frame."""
    number, left, values = int.from_bytes(frame[:FRAME_BYTES], "big"), FRAME_BYTES * 8, {}
    for name, width in FIELDS.items():
        left -= width
        values[name] = number >> left & (1 << width) - 1
    return b"".join(expr.value(values).to_bytes(4, "big") for expr in results) + frame
