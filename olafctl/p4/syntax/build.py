"""From grammar rules to syntax tree: statements and declarations."""

from dataclasses import replace
from typing import Any

from lark import Token as Terminal

from olafctl.p4.refuse import Refused
from olafctl.p4.syntax import tree
from olafctl.p4.syntax.build_expressions import (
    Children,
    ExpressionBuilder,
    Word,
    as_type,
    has_word,
    nodes,
    place,
)


class Annotated(list[tree.Annotation]):
    """The annotations in front of something."""


def _annotations(c: Children) -> tree.Annotations:
    return next((tuple(child) for child in c if isinstance(child, Annotated)), ())


def _name(c: Children) -> str:
    return str(next(child for child in c if isinstance(child, Word)))


def _of(c: Children, *kinds: type) -> list[Any]:
    return [child for child in c if isinstance(child, kinds)]


class Builder(ExpressionBuilder):
    """Turns a parse into declarations."""

    def program(self, c: Children) -> tree.Program:
        return tuple(nodes(c))

    def annotations(self, c: Children) -> Annotated:
        return Annotated(child.annotation for child in c)

    def declaration(self, c: Children) -> tree.Declared:
        declared: tree.Declared = c[-1]
        return replace(declared, annotations=_annotations(c) + declared.annotations)

    # --- statements

    def statement(self, c: Children) -> tree.Statement:
        inner: tree.Statement = c[0]
        return inner

    def block(self, c: Children) -> tree.Block:
        return tree.Block(
            place(c), tuple(child for child in nodes(c) if not isinstance(child, Annotated)), _annotations(c)
        )

    def assign(self, c: Children) -> tree.Statement:
        return tree.Assign(place(c), c[0], str(c[1])[:-1], c[2])

    def do(self, c: Children) -> tree.Statement:
        if not isinstance(c[0], tree.Call):
            raise Refused(place(c), "statement", "neither an assignment nor a call")
        return tree.Do(place(c), c[0])

    def typed(self, c: Children) -> tree.Statement:
        value = c[3] if len(c) > 2 else None
        if isinstance(c[0], tree.Call) and (c[0].args or not c[0].type_args):
            if value is not None:
                raise Refused(place(c), "instance", "cannot be initialized by an assignment")
            made = tree.Call(c[0].pos, c[0].callee, c[0].type_args, ()) if c[0].type_args else c[0].callee
            return tree.Instance(place(c), str(c[1]), (), as_type(made), c[0].args, None)
        return tree.Variable(place(c), str(c[1]), (), as_type(c[0]), value)

    def made(self, c: Children) -> tree.Statement:
        return tree.Instance(place(c), str(c[4]), (), c[0], c[2], None)

    def annotated(self, c: Children) -> tree.Statement:
        statement: tree.Statement = nodes(c)[-1]
        return replace(statement, annotations=_annotations(c))  # type: ignore[arg-type]  # all of these have them

    def conditional(self, c: Children) -> tree.Statement:
        return tree.If(place(c), c[2], c[4], c[6] if len(c) > 5 else None)

    def switch(self, c: Children) -> tree.Statement:
        return tree.Switch(place(c), c[2], tuple(_of(c, tree.SwitchCase)))

    def switch_case(self, c: Children) -> tree.SwitchCase:
        label = None if isinstance(c[0], tree.Anything) else c[0]
        return tree.SwitchCase(place(c), label, c[2] if len(c) > 2 else None)

    def jump(self, c: Children) -> tree.Statement:
        return tree.Jump(place(c), str(c[0]))

    def returns(self, c: Children) -> tree.Statement:
        return tree.Return(place(c), nodes(c)[0] if nodes(c) else None)

    def empty(self, c: Children) -> tree.Statement:
        return tree.Empty(place(c))

    def loop_steps(self, c: Children) -> list[Any]:
        return list(nodes(c))

    def loop(self, c: Children) -> tree.Statement:
        init, condition, update, body = (child for child in nodes(c) if not isinstance(child, Annotated))
        return tree.For(place(c), tuple(init), condition, tuple(update), body)

    def loop_in(self, c: Children) -> tree.Statement:
        type_, name, collection, body = (child for child in nodes(c) if not isinstance(child, Annotated))
        return tree.ForIn(place(c), as_type(type_), str(name), collection, body)

    # --- plain declarations

    def constant(self, c: Children) -> tree.Constant:
        return tree.Constant(place(c), str(c[2]), (), c[1], c[4])

    def variable(self, c: Children) -> tree.Variable:
        return tree.Variable(place(c), str(c[1]), (), c[0], c[3] if len(c) > 3 else None)

    def instance(self, c: Children) -> tree.Instance:
        blocks = _of(c, tree.Block)
        return tree.Instance(place(c), str(c[4]), (), c[0], c[2], blocks[0] if blocks else None)

    def field(self, c: Children) -> tree.Field:
        return tree.Field(place(c), str(c[-2]), _annotations(c), c[-3])

    def struct(self, c: Children) -> tree.StructLike:
        params = next(child for child in c if type(child) is tuple)
        fields = tuple(_of(c, tree.Field))
        return tree.StructLike(place(c), _name(c), _annotations(c), str(c[0]), params, fields)

    def enumerator(self, c: Children) -> tree.Enumerator:
        value = c[-1] if not isinstance(c[-1], Word) else None
        return tree.Enumerator(place(c), _name(c), _annotations(c), value)

    def enumerators(self, c: Children) -> list[tree.Enumerator]:
        return list(nodes(c))

    def enumeration(self, c: Children) -> tree.Enumeration:
        parts = nodes(c)
        underlying = parts[0] if not isinstance(parts[0], Word) else None
        return tree.Enumeration(place(c), _name(c), (), underlying, tuple(parts[-1]))

    def alias(self, c: Children) -> tree.Alias:
        return tree.Alias(place(c), str(c[-2]), _annotations(c), str(c[0]) == "type", c[-3])

    def errors(self, c: Children) -> tree.Errors:
        return tree.Errors(place(c), "error", (), tuple(c[2]))

    def match_kinds(self, c: Children) -> tree.MatchKinds:
        return tree.MatchKinds(place(c), "match_kind", (), tuple(c[2]))

    # --- functions, externs, block types

    def parameter(self, c: Children) -> tree.Parameter:
        parts = [child for child in nodes(c) if not isinstance(child, Annotated)]
        direction = has_word(c, "in", "out", "inout")
        default = parts[2] if len(parts) > 2 else None
        return tree.Parameter(place(c), str(parts[1]), _annotations(c), direction, parts[0], default)

    def parameters(self, c: Children) -> list[tree.Parameter]:
        return list(nodes(c))

    def constructor_parameters(self, c: Children) -> list[tree.Parameter]:
        return list(c[1]) if c else []

    def signature(self, c: Children) -> tree.Signature:
        return tree.Signature(place(c), str(c[1]), (), c[0], c[2], tuple(c[4]))

    def constructor(self, c: Children) -> tree.Signature:
        return tree.Signature(place(c), str(c[0]), (), None, (), tuple(c[2]))

    def method(self, c: Children) -> tree.Signature:
        signature: tree.Signature = _of(c, tree.Signature)[0]
        if has_word(c, "abstract"):
            raise Refused(place(c), "abstract method", "not supported")
        return replace(signature, annotations=_annotations(c))

    def extern_function(self, c: Children) -> tree.ExternFunction:
        signature = _of(c, tree.Signature)[0]
        return tree.ExternFunction(place(c), signature.name, _annotations(c), signature)

    def extern_object(self, c: Children) -> tree.ExternObject:
        named: Any = c[1]
        params: tuple[str, ...] = ()
        if isinstance(named, tree.Specialized):
            params = tuple(arg.name for arg in named.args if isinstance(arg, tree.NamedType))
            named = named.base
        return tree.ExternObject(place(c), named.name, (), params, tuple(_of(c, tree.Signature)))

    def function(self, c: Children) -> tree.Function:
        return tree.Function(place(c), c[0].name, (), c[0], c[1])

    def action(self, c: Children) -> tree.Action:
        return tree.Action(place(c), str(c[1]), (), tuple(c[3]), c[5])

    def block_type(self, c: Children) -> tree.BlockType:
        return tree.BlockType(place(c), str(c[1]), (), str(c[0]), c[2], tuple(c[4]))

    # --- parsers

    def parser_local(self, c: Children) -> tree.Declared:
        local: tree.Declared = c[-1]
        return replace(local, annotations=_annotations(c))

    control_local = parser_local

    def value_set(self, c: Children) -> tree.ValueSet:
        return tree.ValueSet(place(c), str(c[7]), (), c[2], c[5])

    def parser(self, c: Children) -> tree.Parser:
        states = tuple(_of(c, tree.State))
        local = tuple(child for child in c[8:] if isinstance(child, tree.Declared) and child not in states)
        return tree.Parser(place(c), str(c[1]), (), c[2], tuple(c[4]), tuple(c[6]), local, states)

    def state(self, c: Children) -> tree.State:
        parts = [child for child in nodes(c) if not isinstance(child, Annotated)]
        transition = parts.pop() if isinstance(parts[-1], tree.Transition) else None
        return tree.State(place(c), str(parts[0]), _annotations(c), tuple(parts[1:]), transition)

    def transition(self, c: Children) -> tree.Transition:
        if isinstance(c[1], tree.Transition):
            return c[1]
        return tree.Transition(place(c), str(c[1]), (), ())

    def select(self, c: Children) -> tree.Transition:
        return tree.Transition(place(c), "", c[2], tuple(_of(c, tree.SelectCase)))

    def select_case(self, c: Children) -> tree.SelectCase:
        return tree.SelectCase(place(c), c[0], str(c[2]))

    # --- controls and tables

    def control(self, c: Children) -> tree.Control:
        local = tuple(_of(c[8:], tree.Declared))
        return tree.Control(place(c), str(c[1]), (), c[2], tuple(c[4]), tuple(c[6]), local, c[-2])

    def table(self, c: Children) -> tree.Table:
        return tree.Table(place(c), str(c[1]), (), tuple(_of(c, tree.Property)))

    def property(self, c: Children) -> tree.Property:
        made: tree.Property = c[-1]
        return replace(made, annotations=_annotations(c))

    def key_element(self, c: Children) -> tree.KeyElement:
        return tree.KeyElement(place(c), c[0], str(c[2]), _annotations(c))

    def keys(self, c: Children) -> tree.Property:
        return tree.Property(place(c), "key", (), False, tuple(_of(c, tree.KeyElement)))

    def action_ref(self, c: Children) -> tree.ActionRef:
        args = next((child for child in c if type(child) is tuple), ())
        return tree.ActionRef(place(c), _name(c), args, _annotations(c))

    def actions(self, c: Children) -> tree.Property:
        return tree.Property(place(c), "actions", (), False, tuple(_of(c, tree.ActionRef)))

    def entry_priority(self, c: Children) -> list[tree.Expr]:
        return list(nodes(c))

    def entry(self, c: Children) -> tree.Entry:
        parts = [child for child in nodes(c) if not isinstance(child, Annotated)]
        priority = parts.pop(0)[0] if isinstance(parts[0], list) else None
        const = bool(has_word(c, "const"))
        return tree.Entry(parts[0].pos, const, priority, parts[0], parts[1], _annotations(c))

    def entries(self, c: Children) -> tree.Property:
        const = bool(has_word(c, "const"))
        return tree.Property(place(c), "entries", (), const, tuple(_of(c, tree.Entry)))

    def other(self, c: Children) -> tree.Property:
        name = next(str(t) for t in c if isinstance(t, Terminal) and t.type == "NAME")
        return tree.Property(place(c), name, (), bool(has_word(c, "const")), nodes(c)[0])
