"""Write statements and calls as C++."""

from collections.abc import Callable, Sequence

from olafswitch.p4.emit.expressions import Expressions
from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.writer import CppWriter, keeps_origin, type_fields
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects, pin_indices


class BodyWriter:
    """A writer of the code of one function, action, control or parser.

    ``extern`` writes a call of an extern and returns its result; ``leave`` is the C++ that returns early, and
    ``fail`` that with which a parser ends with an error.
    """

    def __init__(
        self,
        places: Places,
        extern: "Callable[[ir.ExternCall, BodyWriter], str]",
        leave: str = "return;",
        fail: str = "return false;",
    ) -> None:
        self.places = places
        self._extern = extern
        self.w = CppWriter(places.types)
        self.e = Expressions(self.w, self)
        self.leave = leave
        self.fail = fail
        self._loops: list[str] = []

    def fail_if(self, condition: str, error: str) -> None:
        """Write a test that ends the parser with an error."""
        code = self.places.error(error)
        self.w.line(f"if (__builtin_expect({condition}, 0)) {{ x.error = {code}; {self.fail} }}")

    # --- statements

    def statement(self, node: ir.Statement) -> None:
        match node:
            case ir.Body(statements=statements):
                self.w.line("{")
                for inner in statements:
                    self.statement(inner)
                self.w.line("}")
            case ir.Declare(local=local, value=value):
                made = self.e.value(value) if value is not None else f"{self.e.cpp(local.type)}{{}}"
                self.w.line(f"{self.e.cpp(local.type)} {local.name} = {made};")
            case ir.Assign(target=target, value=value):
                self._assignment(target, value)
            case ir.Do(call=call):
                self.e.value(call)
            case ir.If():
                self.w.line(f"if ({self.e.value(node.condition)}) {{")
                self.statement(node.yes)
                if node.no is not None:
                    self.w.line("} else {")
                    self.statement(node.no)
                self.w.line("}")
            case ir.Switch():
                self._switch(node)
            case ir.Jump(word=word):
                if word == "exit":
                    self.w.line(f"x.exited = true;\n{self.leave}")
                else:
                    self.w.line(f"goto {word}_{self._loops[-1]};")
            case ir.Return(value=value):
                self.w.line(f"return {self.e.value(value)};" if value is not None else "return;")
            case ir.Loop():
                self._loop(node)

    def _loop(self, node: ir.Loop) -> None:
        name = self.w.fresh("loop")
        self._loops.append(name)
        self.w.line("{")
        for inner in node.init.statements:
            self.statement(inner)
        self.w.line(f"for (u32 {name}n = 0; {name}n < MAX_LOOPS; {name}n++) {{")
        self.w.line(f"if (!({self.e.value(node.condition)})) break;")
        self.statement(node.body)
        self.w.line(f"continue_{name}: __attribute__((unused));")
        for inner in node.update.statements:
            self.statement(inner)
        self.w.line(f"}}\nbreak_{name}: __attribute__((unused));\n}}")
        self._loops.pop()

    def _switch(self, node: ir.Switch) -> None:
        subject = self.e.value(node.subject)
        numbers: Sequence[int] | None = None
        if isinstance(node.subject, ir.TableApply):
            numbers = [self.places.action_number(a.action) for a in node.subject.table.actions]
        self.w.line(f"switch ((u64)({subject})) {{")
        for case in node.cases:
            for label in case.labels or ():
                self.w.line(f"case {numbers[label] if numbers else label}ull:")
            if case.labels is None:
                self.w.line("default:")
            self.statement(case.body)
            self.w.line("break;")
        self.w.line("}")

    # --- assignment

    def _assignment(self, target: ir.Expr, value: ir.Expr) -> None:
        if has_effects(value) or has_effects(target):
            target = self.pin(target)
        self.assign(target, self.e.value(value))

    def pin(self, target: ir.Expr) -> ir.Expr:
        """Return the target with its indices evaluated at this place of the code."""
        return pin_indices(
            target, lambda index: ir.Local(index.type, self.e.keep(self.e.value(index), index.type))
        )

    def assign(self, target: ir.Expr, value: str) -> None:
        """Write the assignment of a C++ value to a P4 place."""
        self._change_header(target)
        match target:
            case ir.Slice(base=ir.Slice() as inner, high=high, low=low):
                flat = ir.Slice(target.type, inner.base, inner.low + high, inner.low + low)
                self.assign(flat, value)
            case ir.Slice(base=ir.Cast(operand=operand), high=high, low=low):
                self.assign(ir.Slice(target.type, operand, high, low), value)
            case ir.Slice(base=base, high=high, low=low):
                self.w.line(f"set_slice<{high}, {low}>({self.e.place(base)}, {value});")
            case ir.WindowSlice(base=base, start=start):
                place, at = self.e.place(base), self.e.value(start)
                cpp, width = self.e.cpp(base.type), t.max_width(target.type)
                ones = f"ones<{width}, {cpp}>()"
                kept, total = self.w.fresh(), t.max_width(base.type)
                self.w.line(f"const u64 {kept} = places({at});")
                self.w.line(
                    f"{place} = cut<{total}>(({cpp})(({place} & ~left({ones}, {kept}))"
                    f" | left(convert<{cpp}>({value}), {kept})));"
                )
            case ir.Field(base=base, name=name) if t.is_union(t.strip_type(base.type)):
                kept = self.e.keep(value, target.type)
                union = self.e.value(base)
                self.w.line(f"if ({kept}.v) {{ {self.only(union, base.type, name)} }}")
                self.w.line(f"{union}.f_{name} = {kept};")
            case _:
                self.w.line(f"{self.e.place(target)} = {value};")

    def _change_header(self, target: ir.Expr) -> None:
        """Write that the header of which ``target`` is a field has values of its own from now on."""
        while isinstance(target, ir.Slice | ir.WindowSlice | ir.Cast):
            target = target.operand if isinstance(target, ir.Cast) else target.base
        while isinstance(target, ir.Field | ir.Element):
            field, target = target, target.base
            if isinstance(field, ir.Field) and keeps_origin(target.type):
                self.w.types.written.add((self.e.cpp(target.type), f"f_{field.name}"))
                self.w.line(f"{self.e.value(target)}.change();")

    def only(self, union: str, type_: t.Type, name: str) -> str:
        """Return statements that make all members of a union but one invalid."""
        others = [field for field, _ in type_fields(type_) if field != f"f_{name}"]
        return " ".join(f"{union}.{field}.v = false;" for field in others)

    # --- calls

    def call(self, node: ir.Expr) -> str:
        """Write a call as statements and return its result as a C++ expression."""
        match node:
            case ir.Call():
                return self._call(node)
            case ir.Apply():
                return self._apply(node)
            case ir.TableApply(table=table, part=part):
                result = self.w.fresh()
                self.w.line(f"const auto {result} = {table.cpp}();\n(void){result};")
                self._after(table.exits)
                return {"hit": f"{result}.hit", "miss": f"(!{result}.hit)"}.get(part, f"{result}.action")
            case ir.HeaderCall():
                self._header_call(node)
                return "0"
            case ir.ExternCall():
                return self._extern(node, self)
        raise AssertionError(node)

    def _after(self, exits: bool) -> None:
        if exits:
            self.w.line(f"if (x.exited) {{ {self.leave} }}")

    def _call(self, node: ir.Call) -> str:
        target = node.target
        action = isinstance(target, ir.Action)
        values, back = self.arguments(node.args, always_copy=action)
        cpp = target.cpp if isinstance(target, ir.Action) else target.name
        called = f"{cpp}({', '.join(values if action else ['x', *values])})"
        result = "0"
        if isinstance(target, ir.Function) and target.result != t.VOID:
            result = self.e.keep(called, target.result)
        else:
            self.w.line(f"{called};")
        for place, value in back:
            self.assign(place, value)
        self._after(target.exits)
        return result

    def arguments(
        self, args: Sequence[ir.Arg], always_copy: bool, by_reference: bool = False
    ) -> tuple[list[str], list[tuple[ir.Expr, str]]]:
        """Return C++ arguments, and what must be copied back after the call.

        Copies are made where a reference would show: where places overlap, or are not C++ lvalues.
        """
        roots = [
            _root_name(arg.value)
            for arg in args
            if arg.direction in ("out", "inout") and arg.value is not None
        ]
        overlap = len(set(roots)) < len(roots)
        turns = sorted(range(len(args)), key=lambda at: args[at].turn)
        effects = [has_effects(args[at].value) for at in turns]
        values = [""] * len(args)
        back: list[tuple[ir.Expr, str]] = []
        for turn, at in enumerate(turns):
            arg, later = args[at], any(effects[turn + 1 :])
            if arg.value is None:
                values[at] = self.e.keep(f"{self.e.cpp(arg.type)}{{}}", arg.type)
            elif arg.direction in ("out", "inout"):
                place = self.pin(arg.value)
                if always_copy or overlap or later or not _is_addressable(place):
                    first = self.e.value(place) if arg.direction == "inout" else f"{self.e.cpp(arg.type)}{{}}"
                    values[at] = self.e.keep(first, arg.type)
                    back.append((place, values[at]))
                else:
                    self._change_header(place)
                    values[at] = self.e.place(place)
            else:
                value = self.e.value(arg.value)
                shared = by_reference and (not _is_addressable(arg.value) or _root_name(arg.value) in roots)
                values[at] = self.e.keep(value, arg.type) if later or shared else value
        return values, back

    def _apply(self, node: ir.Apply) -> str:
        block = node.target
        data = [
            (arg, param) for arg, param in zip(node.args, block.params, strict=True)
            if not isinstance(t.unwrap_type(param.type), t.Extern)
        ]  # fmt: skip
        values, back = self.arguments([arg for arg, _ in data], always_copy=False, by_reference=True)
        inner = ", ".join(["x", *values])
        if block.kind == "parser":
            good = self.w.fresh()
            self.w.line(f"const bool {good} = {block.cpp}({inner});")
        else:
            name = self.w.fresh("c")
            self.w.line(f"{block.cpp} {name}{{{inner}}};\n{name}.apply();")
        for place, value in back:
            self.assign(place, value)
        if block.kind == "parser":
            self.w.line(f"if (!{good}) {{ {self.fail} }}")
        self._after(block.exits)
        return "0"

    def _header_call(self, node: ir.HeaderCall) -> None:
        base = self.pin(node.base)
        place = self.e.value(base)
        if node.method in ("push_front", "pop_front"):
            self.w.line(f"{place}.{node.method}({node.count}u);")
            return
        size = (t.max_width(node.base.type) + 7) // 8
        union = base.base if isinstance(base, ir.Field) and t.is_union(t.strip_type(base.base.type)) else None
        if node.method == "setValid":
            made = f"{place} = {self.e.cpp(node.base.type)}{{}}; {place}.v = true;"
            if keeps_origin(node.base.type):
                made += f" {place}.change();"
            self.w.line(f"if (!{place}.v) {{ {made} x.register_length += {size}; }}")
            if union is not None and isinstance(base, ir.Field):
                self.w.line(self.only(self.e.value(union), union.type, base.name))
        else:
            self.w.line(f"if ({place}.v) {{ {place}.v = false; x.register_length -= {size}; }}")


def _root_name(expr: ir.Expr | None) -> str:
    while isinstance(expr, ir.Field | ir.Element | ir.Slice | ir.StackPart | ir.WindowSlice | ir.Cast):
        expr = expr.operand if isinstance(expr, ir.Cast) else expr.base
    return expr.name if isinstance(expr, ir.Local) else ""


def _is_addressable(expr: ir.Expr) -> bool:
    """Return whether C++ can refer to the expression as it is."""
    match expr:
        case ir.Local():
            return True
        case ir.Field(base=base):
            return not t.is_union(t.strip_type(base.type)) and _is_addressable(base)
        case ir.Element(base=base, index=ir.Const()):
            return _is_addressable(base)
    return False
