"""Build a syntax tree from grammar rules: statements and declarations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lark import Token as Terminal

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.build_expressions import (
    Annotated,
    Children,
    ExpressionBuilder,
    Rule,
    Word,
    as_type,
    first,
    has_word,
    listed,
    node,
    parts,
    place,
    worded,
)


def _annotations(c: Children) -> tree.Annotations:
    return next((tuple(child) for child in c if isinstance(child, Annotated)), ())


def _declared(kind: Callable[..., Any], *fields: Any) -> Rule:
    """Return a rule with a name and optional annotations; its other parts are the node's further fields."""

    def make(_: Any, c: Children) -> Any:
        word = next(child for child in c if isinstance(child, Word))
        others = parts([child for child in c if child is not word])
        return kind(place(c), str(word), _annotations(c), *fields, *others)

    return make


def _kind_of(kind: Callable[..., Any]) -> Rule:
    """Return a rule as :func:`_declared` does, whose first word is the node's ``kind``."""
    return lambda self, c: _declared(kind, str(c[0]))(self, c)


def _annotated(_: Any, c: Children) -> Any:
    """Return a rule's last part, with the annotations in front of it."""
    last = parts(c)[-1]
    return replace(last, annotations=_annotations(c) + last.annotations)


def _property(name: str) -> Rule:
    """Return a rule that is a table's property."""
    return lambda _, c: tree.Property(place(c), name, (), bool(has_word(c, "const")), tuple(parts(c)))


class Builder(ExpressionBuilder):
    """A transformer of a parse into declarations."""

    program = listed
    declaration = _annotated

    def annotations(self, c: Children) -> Annotated:
        return Annotated(child.annotation for child in c)

    # --- statements

    statement = first
    made = _declared(tree.Instance)
    annotated = _annotated
    conditional = node(tree.If)
    jump = worded(tree.Jump)
    returns = node(tree.Return)
    empty = node(tree.Empty)
    loop_steps = listed
    loop = node(tree.For)

    def block(self, c: Children) -> tree.BlockStatement:
        return tree.BlockStatement(place(c), listed(self, c), _annotations(c))

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
            made = replace(c[0], args=()) if c[0].type_args else c[0].callee
            return tree.Instance(place(c), str(c[1]), (), as_type(made), c[0].args)
        return tree.Variable(place(c), str(c[1]), (), as_type(c[0]), value)

    def switch(self, c: Children) -> tree.Statement:
        subject, *cases = parts(c)
        return tree.Switch(place(c), subject, tuple(cases))

    def switch_case(self, c: Children) -> tree.SwitchCase:
        label = None if isinstance(c[0], tree.Anything) else c[0]
        return tree.SwitchCase(place(c), label, c[2] if len(c) > 2 else None)

    def loop_in(self, c: Children) -> tree.Statement:
        type_, name, collection, body = parts(c)
        return tree.ForIn(place(c), as_type(type_), name, collection, body)

    # --- plain declarations

    constant = _declared(tree.Constant)
    variable = _declared(tree.Variable)
    instance = _declared(tree.Instance)
    field = _declared(tree.Field)
    fields = listed
    struct = _kind_of(tree.StructLike)
    enumerator = _declared(tree.Enumerator)
    enumerators = listed

    def enumeration(self, c: Children) -> tree.Enumeration:
        *underlying, name, members = parts(c)
        return tree.Enumeration(place(c), name, (), underlying[0] if underlying else None, members)

    def alias(self, c: Children) -> tree.Alias:
        type_, name = parts(c)
        return tree.Alias(place(c), name, _annotations(c), str(c[0]) == "type", type_)

    def errors(self, c: Children) -> tree.Errors:
        return tree.Errors(place(c), "error", (), c[2])

    def match_kinds(self, c: Children) -> tree.MatchKinds:
        return tree.MatchKinds(place(c), "match_kind", (), c[2])

    # --- functions, externs, block types

    parameters = listed
    signature = _declared(tree.Signature)
    action = _declared(tree.ActionDeclaration)
    block_type = _kind_of(tree.BlockType)

    def parameter(self, c: Children) -> tree.Parameter:
        type_, name, *default = parts(c)
        direction = has_word(c, "in", "out", "inout")
        return tree.Parameter(place(c), name, _annotations(c), direction, type_, *default)

    def constructor_parameters(self, c: Children) -> Any:
        return c[1] if c else ()

    def constructor(self, c: Children) -> tree.Signature:
        return tree.Signature(place(c), str(c[0]), (), None, (), c[2])

    def method(self, c: Children) -> tree.Signature:
        if has_word(c, "abstract"):
            raise Refused(place(c), "abstract method", "not supported")
        signature: tree.Signature = _annotated(self, c)
        return signature

    def extern_function(self, c: Children) -> tree.ExternFunction:
        (signature,) = parts(c)
        return tree.ExternFunction(place(c), signature.name, _annotations(c), signature)

    def extern_object(self, c: Children) -> tree.ExternObject:
        named, *methods = parts(c)
        params: tuple[str, ...] = ()
        if isinstance(named, tree.Specialized):
            params = tuple(arg.name for arg in named.args if isinstance(arg, tree.NamedType))
            named = named.base
        return tree.ExternObject(place(c), named.name, (), params, tuple(methods))

    def function(self, c: Children) -> tree.Function:
        return tree.Function(place(c), c[0].name, (), c[0], c[1])

    # --- parsers

    parser_local = _annotated
    value_set = _declared(tree.ValueSet)
    select_case = node(tree.SelectCase)

    def parser(self, c: Children) -> tree.Parser:
        name, type_params, params, constructor, *inside = parts(c)
        states = tuple(each for each in inside if isinstance(each, tree.StateDeclaration))
        local = tuple(each for each in inside if not isinstance(each, tree.StateDeclaration))
        return tree.Parser(place(c), name, (), type_params, params, constructor, local, states)

    def state(self, c: Children) -> tree.StateDeclaration:
        name, *statements = parts(c)
        ends = bool(statements) and isinstance(statements[-1], tree.Transition)
        transition = statements.pop() if ends else None
        return tree.StateDeclaration(place(c), name, _annotations(c), tuple(statements), transition)

    def transition(self, c: Children) -> tree.Transition:
        if isinstance(c[1], tree.Transition):
            return c[1]
        return tree.Transition(place(c), str(c[1]), (), ())

    def select(self, c: Children) -> tree.Transition:
        subjects, *cases = parts(c)
        return tree.Transition(place(c), "", subjects, tuple(cases))

    # --- controls and tables

    control_local = _annotated
    control_locals = listed
    control = _declared(tree.Control)
    table = _declared(tree.Table)
    properties = listed
    property = _annotated
    keys = _property("key")
    actions = _property("actions")
    entries = _property("entries")

    def key_element(self, c: Children) -> tree.KeyElement:
        value, kind = parts(c)
        return tree.KeyElement(place(c), value, kind, _annotations(c))

    def action_ref(self, c: Children) -> tree.ActionRef:
        name, *args = parts(c)
        return tree.ActionRef(place(c), name, args[0] if args else (), _annotations(c))

    entry_priority = first

    def entry(self, c: Children) -> tree.Entry:
        *priority, keys, action = parts(c)
        const, ranked = bool(has_word(c, "const")), priority[0] if priority else None
        return tree.Entry(keys.pos, const, ranked, keys, action, _annotations(c))

    def other(self, c: Children) -> tree.Property:
        name = next(str(t) for t in c if isinstance(t, Terminal) and t.type == "NAME")
        return tree.Property(place(c), name, (), bool(has_word(c, "const")), first(self, c))
