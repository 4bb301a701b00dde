"""Write the whole program as one C++ file."""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from olafswitch.p4.emit import v1model, xsa
from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.externs import Externs
from olafswitch.p4.emit.places import ARRAYS, Places
from olafswitch.p4.emit.tables import write_lookup, write_specs
from olafswitch.p4.emit.writer import Types, quote_name, words_of, write_literal
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t


@dataclass(frozen=True)
class _Architecture:
    """The differences between programs of different architectures."""

    runtime: str
    """The header file with the path of a packet."""
    externs: type[Externs]
    pipeline: Callable[[ir.Program, Types, Container[str]], list[str]]
    """Writes ``struct Program``, over which that path is a template, for the externs that are called."""
    entry: Sequence[str]
    """The functions of the library's interface that process packets."""


_ARCHITECTURES = {
    "v1model": _Architecture("pipeline.h", Externs, v1model.pipeline, v1model.ENTRY),
    "xsa": _Architecture("xsa.h", xsa.XsaExterns, xsa.pipeline, xsa.ENTRY),
}


class Emitter:
    """A writer of one program as C++; afterwards ``externs.digests`` lists its digests."""

    def __init__(self, program: ir.Program, places: Places) -> None:
        self.program = program
        self.places = places
        self.types = places.types
        self._architecture = _ARCHITECTURES[program.architecture]
        self.externs = self._architecture.externs(places)

    def _body(self, leave: str = "return;") -> BodyWriter:
        return BodyWriter(self.places, self.externs.call, leave)

    def write(self) -> str:
        """Return the C++ text.

        Raises Refused at what cannot be expressed.
        """
        self._code()
        # The second pass knows of every header's field whether a statement writes it.
        parts = [*self._code(), *self._specs(), *self._architecture.entry]
        head = [f'#include "{self._architecture.runtime}"', "struct Result { bool hit; u32 action; };"]
        return "\n".join([*head, *self.types.declarations(), *parts, ""])

    def _code(self) -> list[str]:
        functions = [line for function in self.program.functions for line in self._function(function)]
        blocks = {
            block.cpp: self._parser(block) if block.kind == "parser" else self._control(block)
            for block in self.program.blocks
        }
        self._note_later(functions, blocks)
        parts = functions + [line for lines in blocks.values() for line in lines]
        return parts + self._architecture.pipeline(self.program, self.types, self.externs.used)

    def _note_later(self, functions: list[str], blocks: dict[str, list[str]]) -> None:
        """Note which members the code behind ingress names: its blocks', and those of what they call."""
        parts = self.program.parts
        names = {parts[part].cpp for part in ("egress", "compute", "deparser") if part in parts}
        text = "\n".join(functions)
        for cpp, lines in reversed(blocks.items()):
            if cpp in names:
                code = "\n".join(lines)
                names.update(re.findall(r"\w+", code))
                text += code
        if "same(" in text:
            text += "\n".join(self.types.declarations())
        self.types.later = set(re.findall(r"\.(?:get_)?(f\w+)", text))

    def _params(self, params: Sequence[ir.Parameter], shared: bool = False) -> list[str]:
        made = []
        for param in params:
            if isinstance(t.unwrap_type(param.type), t.Extern):
                continue
            reference = "&" if shared or param.direction in ("out", "inout") else ""
            made.append(f"{self.types.name(param.type)} {reference}{param.local.name}")
        return made

    def _function(self, node: ir.Function) -> list[str]:
        result = "void" if node.result == t.VOID else self.types.name(node.result)
        leave = "return;" if node.result == t.VOID else f"return {result}{{}};"
        body = self._body(leave)
        params = ["Context &x", *self._params(node.params)]
        body.w.line(f"P4_INLINE {result} {node.name}({', '.join(params)}) {{")
        body.w.line("(void)x;")
        self._clear_out(body, node.params)
        body.statement(node.body)
        if node.result != t.VOID:
            body.w.line(leave)
        body.w.line("}")
        return body.w.lines

    def _clear_out(self, body: BodyWriter, params: Sequence[ir.Parameter]) -> None:
        for param in params:
            if param.direction == "out" and not isinstance(t.unwrap_type(param.type), t.Extern):
                body.w.line(f"{param.local.name} = {self.types.name(param.type)}{{}};")

    def _parser(self, block: ir.Block) -> list[str]:
        body = self._body()
        w = body.w
        params = self._params(block.params, shared=True)
        w.line(f"P4_INLINE bool {block.cpp}({', '.join(['Context &x', *params])}) {{")
        w.line("u32 rounds = 0;\n(void)rounds;")
        self._clear_out(body, block.params)
        for variable in block.variables:
            body.statement(variable)
        w.line("goto s_start;")
        order = [state.name for state in block.states]
        for state in block.states:
            w.line(f"s_{state.name}: __attribute__((unused));\n{{")
            for statement in state.body.statements:
                body.statement(statement)
            self._transition(state, body, order)
            w.line("}")
        w.line("}")
        return w.lines

    def _go(self, state: ir.State, target: str, order: list[str]) -> str:
        if target == "accept":
            return "return true;"
        if target == "reject":
            return "return false;"
        back = order.index(target) <= order.index(state.name)
        limit = (
            f"if (++rounds > MAX_LOOPS) {{ x.error = {self.places.error('ParserTimeout')}; return false; }} "
            if back
            else ""
        )
        return f"{limit}goto s_{target};"

    def _transition(self, state: ir.State, body: BodyWriter, order: list[str]) -> None:
        node = state.transition
        if not node.subjects:
            body.w.line(self._go(state, node.state, order))
            return
        values = [body.e.keep(body.e.value(subject), subject.type) for subject in node.subjects]
        for case in node.cases:
            if isinstance(case.sets, ir.ValueSet):
                test = self._in_value_set(case.sets, values, [s.type for s in node.subjects], body)
            else:
                tests = []
                for subject, value, part in zip(node.subjects, values, case.sets, strict=True):
                    if part.values is not None:
                        tests.append(self._in_value_set(part.values, [value], [subject.type], body))
                    elif part.match is not None and part.match.value is not None:
                        tests.append(self._matches(part.match, value, subject.type))
                test = " && ".join(tests)
            go = self._go(state, case.state, order)
            body.w.line(f"if ({test}) {{ {go} }}" if test else f"{{ {go} }}")
        body.w.line(f"x.error = {self.places.error('NoMatch')};\nreturn false;")

    def _matches(self, match: ir.Match, value: str, type_: t.Type) -> str:
        assert match.value is not None
        if match.high is not None:
            low, high = write_literal(match.value, type_), write_literal(match.high, type_)
            return f"({value} >= {low} && {value} <= {high})"
        if match.mask is not None:
            return f"(({value} & {write_literal(match.mask, type_)}) == {write_literal(match.value, type_)})"
        return f"({value} == {write_literal(match.value, type_)})"

    def _in_value_set(
        self, values: ir.ValueSet, given: list[str], types: list[t.Type], body: BodyWriter
    ) -> str:
        name = body.w.fresh("key")
        words = [w for value, type_ in zip(given, types, strict=True) for w in body.e.words(value, type_)]
        body.w.line(f"u64 {name}[{len(words)}];")
        for at, word in enumerate(words):
            body.w.line(f"{name}[{at}] = {word};")
        return f"find_ternary<{len(words)}>(x.sw->value_sets[{values.index}], {name})"

    def _control(self, block: ir.Block) -> list[str]:
        lines = [f"struct {block.cpp} {{", "Context &x;"]
        lines += [f"{param};" for param in self._params(block.params, shared=True)]
        for variable in block.variables:
            lines.append(f"{self.types.name(variable.local.type)} {variable.local.name}{{}};")
        for table in block.tables:
            if table.meter is not None:
                lines.append(f"u64 colour_{table.meter.cpp} = 0;")
        for action in block.actions:
            lines += self._action(action)
        for table in filter(lambda table: table.applied, block.tables):
            body = self._body("return {false, 0};")
            write_lookup(table, body, self.places)
            lines += body.w.lines
        body = self._body()
        body.w.line("P4_METHOD void apply() {")
        self._clear_out(body, block.params)
        for variable in block.variables:
            if variable.value is not None:
                body.w.line(f"{variable.local.name} = {body.e.value(variable.value)};")
        body.statement(block.body)
        body.w.line("}\n};")
        return lines + body.w.lines

    def _action(self, action: ir.Action) -> list[str]:
        body = self._body()
        body.w.line(f"P4_METHOD void {action.cpp}({', '.join(self._params(action.params))}) {{")
        self._clear_out(body, action.params)
        body.statement(action.body)
        body.w.line("}")
        return body.w.lines

    def _specs(self) -> list[str]:
        p = self.program
        lines = write_specs(self.places)
        for extern in ARRAYS:
            rows = []
            for instance in self.places.arrays[extern]:
                words = words_of(instance.type.args[0]) if extern == "register" else 1
                measured = extern == "meter" and self.places.counts_bytes(instance)
                row = f"{quote_name(instance.name)}, {self.places.cells(instance)}, {words}, {int(measured)}"
                rows.append(f"{{{row}}}")
            lines.append(f"static const ArraySpec {extern}_specs[] = {{{', '.join([*rows, '{}'])}}};")
        entries = sum(len(table.entries) for table in p.tables)
        counts = [len(p.tables), len(p.value_sets), *(len(self.places.arrays[e]) for e in ARRAYS), entries]
        return [
            *lines,
            "static const ProgramSpec program_spec = {",
            ", ".join(map(str, counts)) + ",",
            "table_specs, value_set_specs, counter_specs, meter_specs, register_specs, entry_specs};",
            'extern "C" p4_switch *p4_switch_new(void) { return switch_new(&program_spec); }',
            'extern "C" void p4_switch_free(p4_switch *sw) { switch_free(sw); }',
        ]
