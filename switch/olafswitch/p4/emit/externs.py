"""Write the externs of core.p4 and of v1model, as BMv2's simple_switch documentation defines them, as C++."""

from collections.abc import Callable, Mapping

from olafswitch.p4.emit import packets
from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.rows import digest_words, hash_algorithm, hash_row
from olafswitch.p4.emit.writer import words_of
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused

NO_LIST = "~0u"
DIGEST_WORDS = 256


class Externs:
    """Writers of externs: each method that ``EMISSIONS`` names writes one extern and returns its result."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.used: set[str] = set()
        self.digests: list[tuple[str, t.Type, ir.ExternCall]] = []
        self.emissions = self.supported()

    def supported(self) -> "Mapping[str, Callable[[Externs, ir.ExternCall, BodyWriter], str]]":
        """Return the externs that the architecture's programs may call."""
        return EMISSIONS

    def call(self, node: ir.ExternCall, body: BodyWriter) -> str:
        """Write a call and return its result in C++. Raises Refused where the extern is not supported."""
        name = f"{node.owner}.{node.method}" if node.owner else node.method
        if name not in self.emissions:
            raise Refused(node.pos, name, "this extern is not supported")
        self.used.add(name)
        return self.emissions[name](self, node, body)

    @staticmethod
    def values(node: ir.ExternCall, body: BodyWriter, *which: int) -> list[str]:
        exprs = [node.args[at].value for at in which]
        return body.e.row([expr for expr in exprs if expr is not None])

    # --- packets

    def packet_in_extract(self, node: ir.ExternCall, body: BodyWriter) -> str:
        packets.emit_extract(node, body)
        return "0"

    def packet_in_lookahead(self, node: ir.ExternCall, body: BodyWriter) -> str:
        return packets.emit_lookahead(node, body)

    def packet_in_advance(self, node: ir.ExternCall, body: BodyWriter) -> str:
        bits = body.e.keep(self.values(node, body, 0)[0], t.Bit(32))
        body.fail_if(f"{bits} % 8 != 0", "ParserInvalidArgument")
        body.fail_if(f"!x.has({bits})", "PacketTooShort")
        body.w.line(f"x.at += (u32)({bits} / 8);")
        return "0"

    def packet_in_length(self, node: ir.ExternCall, body: BodyWriter) -> str:
        return "((u64)x.length())"

    def packet_out_emit(self, node: ir.ExternCall, body: BodyWriter) -> str:
        expr = node.given(0)
        packets.emit_value(body.e.value(expr) if not isinstance(expr, ir.Make) else body.e.keep(
            body.e.value(expr), expr.type), expr.type, body, node.pos)  # fmt: skip
        return "0"

    def verify(self, node: ir.ExternCall, body: BodyWriter) -> str:
        condition, code = self.values(node, body, 0, 1)
        body.w.line(f"if (!({condition})) {{ x.error = {code}; {body.fail} }}")
        return "0"

    # --- what happens to the packet

    def mark_to_drop(self, node: ir.ExternCall, body: BodyWriter) -> str:
        if not node.args or node.args[0].value is None:
            raise Refused(node.pos, "mark_to_drop()", "without standard_metadata it is not supported")
        place = body.e.value(node.args[0].value)
        body.w.line(f"{place}.f_egress_spec = DROP_PORT;\n{place}.f_mcast_grp = 0;")
        return "0"

    def truncate(self, node: ir.ExternCall, body: BodyWriter) -> str:
        body.w.line(f"x.truncate({self.values(node, body, 0)[0]});")
        return "0"

    def _kept(self, node: ir.ExternCall, at: int) -> str:
        """Return the list of the metadata fields that a packet keeps, from the argument ``at``."""
        if at == len(node.args):
            return NO_LIST
        given = node.args[at].value
        if node.method.endswith("_preserving_field_list"):
            if not isinstance(given, ir.Const):
                raise Refused(node.pos, node.method, "its field list's number must be known at compile time")
            return f"{given.value}u"
        if not (isinstance(given, ir.Make) and not given.parts):
            raise Refused(node.pos, node.method, "with fields it is not supported; use a field list")
        return NO_LIST

    def clone(self, node: ir.ExternCall, body: BodyWriter) -> str:
        kept, session = self._kept(node, 2), self.values(node, body, 1)[0]
        body.w.line(f"x.clone = true;\nx.session = (u32){session};\nx.clone_list = {kept};")
        return "0"

    def repeat(self, node: ir.ExternCall, body: BodyWriter) -> str:
        """Write ``resubmit`` or ``recirculate``."""
        verb = node.method.partition("_")[0]
        body.w.line(f"x.{verb} = true;\nx.{verb}_list = {self._kept(node, 0)};")
        return "0"

    def digest(self, node: ir.ExternCall, body: BodyWriter) -> str:
        data = node.given(1)
        base = t.unwrap_type(data.type)
        name = base.name if isinstance(base, t.Struct) else f"digest_{len(self.digests)}"
        known = next((at for at, entry in enumerate(self.digests) if entry[0] == name), None)
        if known is None:
            known = len(self.digests)
            self.digests.append((name, base, node))
        words = digest_words(data, body, node.pos)
        if words > DIGEST_WORDS:
            raise Refused(node.pos, "digest", f"is longer than {DIGEST_WORDS * 64} bits")
        body.w.line(f"x.digest = true;\nx.digest_id = {known};\nx.digest_words = {words};")
        return "0"

    # --- arithmetic

    def store_hash(self, node: ir.ExternCall, body: BodyWriter) -> str:
        function = hash_algorithm(node.args[1].value, node.pos)
        result, data = node.args[0].value, node.given(3)
        base, most = self.values(node, body, 2, 4)
        for at in (2, 4):
            bound = node.args[at].value
            if isinstance(bound, ir.Const) and int(bound.value) >> 64:
                raise Refused(node.pos, "hash", "a base or maximum beyond 64 bits is not supported")
        value = hash_row(data, function, body, node.pos)
        if result is not None:
            self._store(node, result, f"in_range({value}, places({base}), places({most}))", body)
        return "0"

    @staticmethod
    def _store(node: ir.ExternCall, target: ir.Expr, value: str, body: BodyWriter) -> None:
        """Write the assignment of a u64 to a target of any width."""
        base = t.strip_type(target.type)
        if not (isinstance(base, t.Bit | t.Enum) or base == t.BOOL):
            raise Refused(node.pos, node.method, f"its result cannot be a {target.type}")
        if isinstance(base, t.Bit):
            value = f"cut<{base.width}>(convert<{body.e.cpp(base)}>((u64)({value})))"
        elif base == t.BOOL:
            value = f"(({value}) & 1)"
        body.assign(target, value)

    def store_random(self, node: ir.ExternCall, body: BodyWriter) -> str:
        target = node.args[0].value
        low, high = (body.e.keep(f"places({v})", t.Bit(64)) for v in self.values(node, body, 1, 2))
        if target is not None:
            body.w.line(f"if ({low} <= {high}) {{")
            self._store(node, target, f"random_between(x.sw, {low}, {high})", body)
            body.w.line("}")
        return "0"

    def check_assertion(self, node: ir.ExternCall, body: BodyWriter) -> str:
        body.w.line(f"if (!({self.values(node, body, 0)[0]})) x.failed = true;")
        return "0"

    def log_msg(self, node: ir.ExternCall, body: BodyWriter) -> str:
        for arg in node.args[1:]:
            if arg.value is not None:
                body.e.value(arg.value)
        return "0"

    # --- checksums

    def _checksum(self, node: ir.ExternCall, body: BodyWriter) -> str:
        function = hash_algorithm(node.args[3].value, node.pos)
        data = node.given(1)
        if not node.method.endswith("_with_payload"):
            return hash_row(data, function, body, node.pos)
        if function != "csum16":
            raise Refused(node.pos, node.method, "supported with HashAlgorithm.csum16 only")
        return hash_row(data, "csum16_two", body, node.pos, ", x.at, x.payload_length()")

    def verify_checksum(self, node: ir.ExternCall, body: BodyWriter) -> str:
        stored = node.given(2)
        body.w.line(f"if ({self.values(node, body, 0)[0]}) {{")
        name = body.e.keep(f"{body.e.cpp(stored.type)}{{}}", stored.type)
        self._store(node, ir.Local(stored.type, name), self._checksum(node, body), body)
        body.w.line(f"if ({name} != {body.e.value(stored)}) x.checksum_error = true;\n}}")
        return "0"

    def update_checksum(self, node: ir.ExternCall, body: BodyWriter) -> str:
        target = node.given(2)
        body.w.line(f"if ({self.values(node, body, 0)[0]}) {{")
        self._store(node, target, self._checksum(node, body), body)
        body.w.line("}")
        return "0"

    # --- state

    def _cell(self, node: ir.ExternCall, body: BodyWriter, at: int) -> tuple[str, str, str]:
        """Return the C++ array, the index in a temporary, and a test that the index is in range."""
        index = node.given(at)
        name = body.e.keep(f"places({body.e.value(index)})", t.Bit(64))
        array = self.places.array(node.object)
        return array, name, f"{name} < {self.places.cells(node.object)}u"

    def counter_count(self, node: ir.ExternCall, body: BodyWriter) -> str:
        array, index, within = self._cell(node, body, 0)
        body.w.line(f"if ({within}) count({array}[{index}], x.ingress_length);")
        return "0"

    def direct_counter_count(self, node: ir.ExternCall, body: BodyWriter) -> str:
        return "0"  # every hit is counted, as in BMv2

    def meter_execute_meter(self, node: ir.ExternCall, body: BodyWriter) -> str:
        array, index, within = self._cell(node, body, 0)
        target = node.args[1].value
        units = "x.ingress_length" if self.places.counts_bytes(node.object) else "1"
        colour = f"meter_colour({array}[{index}], {units}, x.now)"
        body.w.line(f"if ({within}) {{")
        if target is not None:
            self._store(node, target, colour, body)
        else:
            body.w.line(f"{colour};")
        body.w.line("}")
        return "0"

    def direct_meter_read(self, node: ir.ExternCall, body: BodyWriter) -> str:
        if not self.places.is_attached(node.object):
            raise Refused(node.pos, node.object.name, "is not attached to a table")
        if node.args[0].value is not None:
            self._store(node, node.args[0].value, f"colour_{node.object.cpp}", body)
        return "0"

    @staticmethod
    def _register_type(node: ir.ExternCall) -> t.Type:
        return t.strip_type(node.object.type.args[0])

    def register_read(self, node: ir.ExternCall, body: BodyWriter) -> str:
        type_ = self._register_type(node)
        array, index, within = self._cell(node, body, 1)
        target = node.args[0].value
        if target is None:
            return "0"
        body.w.line(f"if ({within}) {{")
        words = words_of(type_)
        name = body.e.keep(f"{body.e.cpp(type_)}{{}}", type_)
        if words == 1:
            body.w.line(f"{name} = word({array}[{index}]);")
        else:
            body.w.line(
                f"for (u32 i = 0; i < {words}; i++)"
                f" Limbs<{body.e.cpp(type_)}>::set({name}, i, word({array}[{index} * {words} + i]));"
            )
        body.assign(target, name)
        body.w.line("}")
        return "0"

    def register_write(self, node: ir.ExternCall, body: BodyWriter) -> str:
        type_ = self._register_type(node)
        array, index, within = self._cell(node, body, 0)
        value = self.values(node, body, 1)[0]
        words = words_of(type_)
        if words == 1:
            body.w.line(f"if ({within}) set_word({array}[{index}], (u64)({value}));")
        else:
            name = body.e.keep(value, type_)
            body.w.line(
                f"if ({within}) for (u32 i = 0; i < {words}; i++)"
                f" set_word({array}[{index} * {words} + i], Limbs<{body.e.cpp(type_)}>::get({name}, i));"
            )
        return "0"


EMISSIONS: Mapping[str, Callable[[Externs, ir.ExternCall, BodyWriter], str]] = {
    "packet_in.extract": Externs.packet_in_extract,
    "packet_in.lookahead": Externs.packet_in_lookahead,
    "packet_in.advance": Externs.packet_in_advance,
    "packet_in.length": Externs.packet_in_length,
    "packet_out.emit": Externs.packet_out_emit,
    "verify": Externs.verify,
    "mark_to_drop": Externs.mark_to_drop,
    "truncate": Externs.truncate,
    "clone": Externs.clone,
    "clone_preserving_field_list": Externs.clone,
    "clone3": Externs.clone,
    "resubmit": Externs.repeat,
    "resubmit_preserving_field_list": Externs.repeat,
    "recirculate": Externs.repeat,
    "recirculate_preserving_field_list": Externs.repeat,
    "digest": Externs.digest,
    "hash": Externs.store_hash,
    "random": Externs.store_random,
    "assert": Externs.check_assertion,
    "assume": Externs.check_assertion,
    "log_msg": Externs.log_msg,
    "verify_checksum": Externs.verify_checksum,
    "verify_checksum_with_payload": Externs.verify_checksum,
    "update_checksum": Externs.update_checksum,
    "update_checksum_with_payload": Externs.update_checksum,
    "counter.count": Externs.counter_count,
    "direct_counter.count": Externs.direct_counter_count,
    "meter.execute_meter": Externs.meter_execute_meter,
    "direct_meter.read": Externs.direct_meter_read,
    "register.read": Externs.register_read,
    "register.write": Externs.register_write,
}
"""Writers of calls, by the P4 name of each supported extern."""
