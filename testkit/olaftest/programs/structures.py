"""Random v1model programs of everything that p4-to-fpga.md lists: parsers, tables, control flow, externs."""

from collections.abc import Callable, Iterator

from olaftest.programs.generator import CHOSEN, Generator

TOP = """#include <core.p4>
#include <v1model.p4>
error {{ Odd, Even }}
enum bit<8> Sort {{ ONE = 1, TWO = 2, OTHER = 0x80 }}
header first_t {{ bit<8> a; bit<8> b; bit<16> c; }}
header item_t {{ bit<8> v; bit<3> low; bit<5> high; }}
header number_t {{ bit<32> d; bit<16> e; bit<16> sum; }}
header_union either_t {{ item_t x; number_t y; }}
struct part_t {{ first_t inner; item_t leaf; }}
struct headers_t {{ first_t f; item_t[3] s; part_t p; number_t n; either_t u; }}
struct pair_t {{ bit<16> x; bit<8> y; }}
struct metadata_t {{ bit<8> m; bit<16> w; bit<32> d; bool flag; pair_t pair; }}
bit<32> chosen(in bit<8> x, in bit<32> y) {{ return {chosen}; }}
bit<8> settle(inout bit<8> x, out bit<16> y, in bit<8> z) {{
    y = (bit<16>) z + 1;
    if (x > z) {{ return x; }}
    x = x + z;
    return z - x;
}}
"""
PARSERS = """parser Leaf(packet_in packet, out item_t i, inout bit<8> m) {{
    state start {{ m = m + 1; packet.extract(i); {leaf} }}
    state more {{ m = m |+| i.v; transition accept; }}
}}
parser Inner(packet_in packet, inout part_t p, inout metadata_t m, out bit<16> seen) {{
    value_set<bit<8>>(4) known;
    bit<8> count;
    state start {{ count = 3; seen = 7; {inner} }}
    state more {{ Leaf.apply(packet, p.leaf, count); m.m = count; seen = seen + 1; {after} }}
    state again {{ packet.extract(p.leaf); transition accept; }}
}}
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    value_set<bit<8>>(4) listed;
    Inner() inner;
    state start {{ packet.extract(h.f); {start} }}
    state within {{ inner.apply(packet, h.p, m, m.w); {within} }}
    state stack {{ packet.extract(h.s.next); {stack} }}
    state number {{ packet.extract(h.n); {number} }}
    state either {{ packet.extract(h.u.{side}); transition accept; }}
}}
"""
REST = """control Sub(inout headers_t h, inout metadata_t m, inout standard_metadata_t s)(bit<8> step) {{
    apply {{ m.m = m.m + step; {sub} }}
}}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    {locals}
    Sub(3) sub;
    apply {{
        bit<16> x = h.f.c;
        bit<8> y = h.f.a;
        pair_t pair = {{ x, y }};
        s.egress_spec = 1;
        {body}
    }}
}}
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    apply {{ {egress} }}
}}
control MyVerify(inout headers_t h, inout metadata_t m) {{ apply {{ {verify} }} }}
control MyCompute(inout headers_t h, inout metadata_t m) {{ apply {{ {compute} }} }}
control MyDeparser(packet_out packet, in headers_t h) {{ apply {{ packet.emit(h); }} }}
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
"""
_ACTIONS = """action set_a(bit<8> v) {{ h.f.a = v; }}
    action set_c(bit<16> v, bit<8> w) {{ h.f.c = v; m.m = w; }}
    action leave() {{ s.egress_spec = 2; exit; }} action drop() {{ mark_to_drop(s); }}"""
_KEYS = {
    "small": "h.f.a: exact;", "large": "h.f.c: exact; m.m: exact;", "prefix": "h.n.d: lpm;",
    "masked": "h.f.c: ternary; h.s[0].isValid(): exact;", "ranged": "m.w: range;",
    "maybe": "h.f.b: optional;", "keyless": "",
}  # fmt: skip
HASHES = ("crc32", "crc16", "csum16", "xor16", "identity")
_NAMES = {
    "fa": ("h.f.a", 8), "fb": ("h.f.b", 8), "fc": ("h.f.c", 16), "d": ("h.n.d", 32), "m": ("m.m", 8),
    "w": ("m.w", 16), "low": ("h.s[1].low", 3), "x": ("h.f.c", 16), "leaf": ("h.p.leaf.v", 8),
}  # fmt: skip


class Structures(Generator):
    """Random programs, the same for a seed; their expressions are those of :class:`Generator`."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names = dict(_NAMES)
        self._tables: list[str] = []
        self._once: list[Callable[[int], str]] = []
        self._serial = 0
        self._moves = 0
        """How many more statements may change which headers leave."""
        self._locals: list[str] = []

    def random_structures(self) -> str:
        """Write a program."""
        r = self.random
        self._locals = [_ACTIONS.format()]
        self._tables = r.sample(list(_KEYS), 6)
        self._once = [
            self._write_table,
            r.choice([self._write_register, self._write_group]),
            self._write_table,
            self._write_counter,
        ]
        self._moves = 2
        body = "\n        ".join(self._random_statement(3) for _ in range(r.randint(4, 8)))
        egress = " ".join(self._write_assignment(1) for _ in range(r.randint(0, 2)))
        if r.random() < 0.3:
            egress += " s.egress_spec = 511;" if r.random() < 0.2 else " h.n.e = (bit<16>) s.egress_port;"
        parsers = PARSERS.format(
            leaf=self._write_check("i.v") + self._write_select("i.v", "more", "accept"),
            inner=f"{self._write_look('m.m')}packet.extract(p.inner); "
            + self._write_select("p.inner.a", "more", "accept", "known"),
            after=self._write_check("count") + self._write_select("p.leaf.v", "accept", "again"),
            start=self._write_look("m.m") + self._write_select("h.f.a", "within", "stack", "listed"),
            within=self._write_check("m.m") + self._write_select("h.p.leaf.v", "stack", "number"),
            stack=self._write_select("h.s.last.v", "stack", "number"),
            number=self._write_select("h.n.d[7:0]", "accept", "either"),
            side=r.choice("xy"),
        )  # fmt: skip
        rest = REST.format(
            sub=self._write_assignment(1), locals="\n    ".join(self._locals), body=body, egress=egress,
            verify=self._write_checksum("verify"), compute=self._write_checksum("update"),
        )  # fmt: skip
        return TOP.format(chosen=CHOSEN) + parsers + rest

    # --- parsers

    def _write_check(self, value: str) -> str:
        if self.random.random() < 0.5:
            return ""
        name = self.random.choice(("Odd", "Even"))
        return f"verify({value} != {self.random.choice((0, 1, 2, 255))}, error.{name}); "

    def _write_look(self, target: str) -> str:
        r = self.random.random()
        if r < 0.3:
            return f"{target} = packet.lookahead<bit<8>>(); "
        return f"packet.advance({self.random.choice((8, 16))}); " if r < 0.6 else ""

    def _write_select(self, subject: str, first: str, second: str, values: str = "") -> str:
        r = self.random
        labels = ["1", "2 .. 9", "0x80 &&& 0x80", "_", *([values] if values else [])]
        cases = [f"{label}: {r.choice((first, second))};" for label in r.sample(labels, 3)]
        cases += [f"default: {r.choice((first, second, 'accept', 'reject'))};"] * (r.random() < 0.8)
        return f"transition select({subject}) {{ {' '.join(cases)} }}"

    # --- statements

    def _fresh_name(self, stem: str) -> str:
        self._serial += 1
        return f"{stem}{self._serial}"

    def _random_statement(self, depth: int) -> str:
        r = self.random
        kinds: list[Callable[[int], str]] = [
            self._write_assignment,
            self._write_assignment,
            self._write_header_call,
            self._write_settle,
            self._write_hash,
            self._write_stack,
            self._write_pair,
        ]
        if depth:
            kinds += [
                self._write_if,
                self._write_switch,
                self._write_loop,
                self._write_table,
                self._write_block,
                self._write_if,
            ]
        if depth < 3:
            kinds.append(lambda _: r.choice(("return;", "exit;")))
        elif self._once and r.random() < 0.5:
            return self._once.pop()(depth)
        return r.choice(kinds)(depth - 1)

    def _random_statements(self, depth: int) -> str:
        return " ".join(self._random_statement(max(depth, 0)) for _ in range(self.random.randint(1, 2)))

    def _write_assignment(self, depth: int) -> str:
        target, width = self.random.choice(list(_NAMES.values()))
        if width > 3 and self.random.random() < 0.3:
            high = self.random.randrange(1, width)
            low = self.random.randrange(high)
            return f"{target}[{high}:{low}] = {self.bits(high - low + 1, 1).text};"
        return f"{target} = {self.bits(width, 2).text};"

    def _write_if(self, depth: int) -> str:
        other = f" else {{ {self._random_statements(depth)} }}" if self.random.random() < 0.5 else ""
        test = self.random.choice(
            (self.generate_truth(1).text, "h.n.isValid()", "h.f == h.p.inner", "m.flag")
        )
        return f"if ({test}) {{ {self._random_statements(depth)} }}{other}"

    def _write_switch(self, depth: int) -> str:
        cases = f"1: {{ {self._random_statements(depth)} }} 2: 3: {{ {self._random_statements(depth)} }}"
        return f"switch (h.f.b) {{ {cases} default: {{ {self._random_statements(depth)} }} }}"

    def _write_loop(self, depth: int) -> str:
        at, rounds = self._fresh_name("i"), self.random.randint(1, 4)
        jump = f"if ({self.generate_truth(0).text}) {{ {self.random.choice(('break', 'continue'))}; }}"
        body = f"m.d = m.d + {at}; {jump} {self._write_assignment(1)}"
        body += f" {self._random_statements(min(depth, 1) - 1)}"
        return f"for (bit<32> {at} = 0; {at} < {rounds}; {at} = {at} + 1) {{ {body} }}"

    def _write_block(self, depth: int) -> str:
        return f"{{ {self._random_statements(depth)} }}"

    def _write_table(self, depth: int) -> str:
        if not self._tables:
            return self._write_assignment(depth)
        name = self._tables.pop()
        size = {"large": 300, "prefix": 100, "keyless": 1}.get(name, 16)
        direct = self._fresh_name("direct")
        counted = name in ("small", "prefix", "masked") and self.random.random() < 0.6
        own = f"action {direct}_a() {{ {direct}.count(); h.f.b = 9; }} " if counted else ""
        self._locals.append(
            (f"direct_counter(CounterType.packets_and_bytes) {direct}; {own}" if counted else "")
            + f"table {name} {{ key = {{ {_KEYS[name]} }} actions = {{ set_a; set_c; leave; drop; NoAction; "
            + (f"{direct}_a; }}" if counted else "}")
            + f" size = {size}; default_action = {self.random.choice(('NoAction()', 'set_a(7)', 'leave()'))};"
            + (f" counters = {direct};" if counted else "")
            + " }"
        )
        way = self.random.randrange(3)
        if way == 0:
            return f"if ({name}.apply().hit) {{ {self._random_statements(depth)} }}"
        if way == 1:
            first, second, other = (self._random_statements(depth) for _ in range(3))
            cases = f"set_a: {{ {first} }} set_c: drop: {{ {second} }} default: {{ {other} }}"
            return f"switch ({name}.apply().action_run) {{ {cases} }}"
        return f"if (!{name}.apply().miss) {{ {self._random_statements(depth)} }}"

    def _write_header_call(self, depth: int) -> str:
        if self._moves == 0:
            return self._write_assignment(depth)
        self._moves -= 1
        header = self.random.choice(("h.n", "h.p.inner", "h.p.leaf", "h.s[1]", "h.u.x"))
        copies = ("h.p.inner = h.f;", "h.s[2] = h.s[0];", "h.p.leaf = h.s[0];", "h.p.leaf = {1, 2, 3};")
        calls = (f"{header}.setInvalid();", f"{header}.setValid();")
        return self.random.choice((*copies, *calls))

    def _write_stack(self, depth: int) -> str:
        index = "(bit<32>) h.f.b[1:0]"
        if self._moves and self.random.random() < 0.3:
            self._moves -= 1
            return self.random.choice(("h.s.push_front(1);", "h.s.pop_front(1);"))
        kinds = (
            f"h.s[{index}].v = {self.bits(8, 1).text};",
            f"m.m = h.s[{index}].v;",
            "m.d = (bit<32>) h.s.lastIndex;",
        )
        return self.random.choice(kinds)

    def _write_pair(self, depth: int) -> str:
        kinds = (
            "m.pair = { h.f.c, h.f.a };",
            "pair = m.pair;",
            "x = pair.x + m.pair.x; m.w = x;",
            "pair.y = y;",
            "m.flag = (bool) h.f.b[0:0];",
            "m.pair = {5, ...};",
            "h.f.c[h.f.b[1:0]+:5] = 5w9;",
            "m.m = h.n.d[h.f.b[4:0]+:8];",
            "m.m = (bit<8>) Sort.TWO;",
            'log_msg("here");',
            "sub.apply(h, m, s);",
        )
        return self.random.choice(kinds)

    def _write_settle(self, depth: int) -> str:
        target = self.random.choice(("h.f.b", "m.m", "h.s[0].v", "y"))
        changed = self.random.choice(("h.f.a", "y", "m.pair.y"))
        value = self.bits(8, 1).text
        if self.random.random() < 0.4:  # by name, and a value that another argument changes
            value = f"settle(m.pair.y, m.pair.x, {value})"
            return f"{target} = settle(z = {value}, y = m.w, x = {changed});"
        return f"{target} = settle({changed}, m.w, {value});"

    def _write_hash(self, depth: int) -> str:
        function = self.random.choice(HASHES)
        most = self.random.choice(("32w16", "32w65536", "32w10", "(bit<32>) h.f.a"))
        base = self.random.choice((0, 5))
        changed = self.random.choice(("m.w", "settle(m.m, m.w, h.f.b)"))
        return f"hash(x, HashAlgorithm.{function}, 16w{base}, {{ h.f.a, h.n.d, {changed} }}, {most});"

    def _write_counter(self, depth: int) -> str:
        self._locals.append("counter(16, CounterType.packets_and_bytes) count;")
        return "count.count((bit<32>) h.f.a[4:0]);"

    def _write_register(self, depth: int) -> str:
        self._locals.append("register<bit<16>>(8) cells;")
        change = self.random.choice(("x + 1", "x ^ 16w0x5a", "m.w"))
        return f"cells.read(x, (bit<32>) h.f.b[3:0]); cells.write((bit<32>) h.f.b[3:0], {change}); h.f.c = x;"

    def _write_group(self, depth: int) -> str:
        return f"s.mcast_grp = (bit<16>) h.f.b[{self.random.choice((1, 2))}:0];"

    def _write_checksum(self, verb: str) -> str:
        if self.random.random() < 0.3:
            return ""
        name = "csum16" if self.random.random() < 0.6 else self.random.choice(("crc16", "xor16", "crc32"))
        return (
            f"{verb}_checksum(h.n.isValid(), {{ h.n.d, h.n.e, h.f.a, 8w0 }}, h.n.sum, HashAlgorithm.{name});"
        )


def structured_texts(count: int, first: int = 0) -> Iterator[str]:
    """Write the programs of ``count`` seeds."""
    for seed in range(first, first + count):
        yield Structures(seed).random_structures()
