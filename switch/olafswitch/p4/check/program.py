"""A whole program: its declarations, and the blocks of its ``main``."""

from olafswitch.p4.check.actions import make_action, make_function
from olafswitch.p4.check.architectures import ARCHITECTURES, XSA, architecture_of, package_name
from olafswitch.p4.check.blocks import instantiate_block, make_local_instance, object_argument
from olafswitch.p4.check.coercion import coerce_to
from olafswitch.p4.check.expressions import check_expression, constant_int
from olafswitch.p4.check.scope import Functions, OnDemand, Scope, Unit
from olafswitch.p4.check.statements import declare_constant
from olafswitch.p4.check.typing import make_struct, resolve_type, unify_types
from olafswitch.p4.check.unused import check_unused
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree


def _own_action(node: tree.ActionDeclaration, scope: Scope, block: ir.Block) -> ir.Action:
    block.actions.append(action := make_action(node, scope.top(), "", block))
    return action


def _instantiate_direct(node: tree.Parser | tree.Control, scope: Scope, pos: Pos) -> ir.Block:
    block = instantiate_block(node, (), scope, node.name, (), pos)
    if scope.frame.block is not None:
        scope.frame.block.direct.append(block)
    return block


_ON_DEMAND = OnDemand(constant_int, make_function, _own_action, _instantiate_direct)


def check_program(declarations: tree.Program, file: str) -> ir.Program:
    """Return the program, checked and instantiated from ``main``; ``file`` is its author's name for it.

    Raises Refused at the first thing that is wrong or not supported.
    """
    unit = Unit(_ON_DEMAND, architecture_of(declarations))
    scope = Scope(unit)
    main: tree.Instance | None = None
    for node in declarations:
        if isinstance(node, tree.Instance) and node.name == "main":
            main = node
        else:
            _declare_top(node, scope)
    if main is None:
        why = "has no main: a P4 program ends with an instance of its architecture's package, such as"
        raise Refused(Pos(file), "program", f"{why} V1Switch(...) main;")
    program = _instantiate_main(main, scope)
    check_unused(declarations, scope)
    return program


def constant_value(node: tree.Expr) -> int | bool | str:
    """Return the value of an expression without names; raises Refused where it is not constant."""
    value = check_expression(node, Scope(Unit(_ON_DEMAND)))
    if not isinstance(value, ir.Const):
        raise Refused(node.pos, "expression", "must be known at compile time")
    return value.value


def _declare_top(node: tree.Declared, scope: Scope) -> None:
    unit = scope.unit
    match node:
        case tree.Errors(members=members):
            for member in members:
                if member.name in unit.declared_errors:
                    raise Refused(member.pos, f"error.{member.name}", "declared twice")
                unit.declared_errors.add(member.name)
                if member.name not in unit.errors:
                    unit.errors.append(member.name)
        case tree.MatchKinds(members=members):
            unit.match_kinds |= {member.name for member in members}
        case tree.Constant():
            declare_constant(node, scope)
        case tree.StructLike():
            _declare_struct(node, scope)
        case tree.Enumeration():
            scope.declare(node.name, _make_enumeration(node, scope), node.pos)
        case tree.Alias():
            _declare_alias(node, scope)
        case tree.Function() | tree.ExternFunction():
            scope.declare(node.name, Functions((node,)), node.pos)
        case (
            tree.ExternObject() | tree.BlockType() | tree.ActionDeclaration() | tree.Parser() | tree.Control()
        ):
            scope.declare(node.name, node, node.pos)
        case tree.Instance():
            made = make_local_instance(node, scope)
            if isinstance(made, ir.Block):
                raise Refused(
                    node.pos, f"instance {node.name}", f"a {made.kind} cannot be instantiated at top level"
                )
            scope.declare(node.name, made, node.pos)
        case _:
            raise Refused(node.pos, node.name, "cannot be declared at top level")


def _declare_struct(node: tree.StructLike, scope: Scope) -> None:
    if node.type_params:
        scope.declare(node.name, node, node.pos)
    else:
        made = make_struct(node, node.name, scope)
        scope.unit.structs.append(made)
        scope.declare(node.name, made, node.pos)


def _declare_alias(node: tree.Alias, scope: Scope) -> None:
    if isinstance(node.type, tree.StructLike | tree.Enumeration):
        raise Refused(node.pos, "typedef", "of a declaration in place is not supported")
    type_ = resolve_type(node.type, scope)
    if node.distinct:
        base = t.unwrap_type(type_)
        if not (isinstance(base, t.Bit) or base == t.BOOL or isinstance(type_, t.Enum | t.NewType)):
            raise Refused(node.pos, f"type {node.name}", f"cannot be made of {type_}")
        type_ = t.NewType(node.name, type_, node)
    scope.declare(node.name, type_, node.pos)


def _make_enumeration(node: tree.Enumeration, scope: Scope) -> t.Enum:
    names = [member.name for member in node.members]
    for member in node.members:
        if names.count(member.name) > 1:
            raise Refused(member.pos, f"enum {node.name}", f"{member.name} is declared twice")
    if node.underlying is None:
        for member in node.members:
            if member.value is not None:
                raise Refused(member.pos, f"enum {node.name}", "its members have values but it has no type")
        return t.Enum(node.name, tuple((name, at) for at, name in enumerate(names)))
    underlying = t.unwrap_type(resolve_type(node.underlying, scope))
    if not isinstance(underlying, t.Bit):
        raise Refused(node.pos, f"enum {node.name}", f"cannot be of {underlying}")
    values: list[tuple[str, int]] = []
    inner = scope.inner()
    for member in node.members:
        if member.value is None:
            raise Refused(member.pos, f"enum {node.name}", f"{member.name} has no value")
        value = coerce_to(check_expression(member.value, inner), underlying, member.pos)
        if not isinstance(value, ir.Const):
            raise Refused(member.pos, f"enum {node.name}", f"{member.name}'s value is not constant")
        values.append((member.name, int(value.value)))
    return t.Enum(node.name, tuple(values), underlying)


def _instantiate_main(node: tree.Instance, scope: Scope) -> ir.Program:
    name = package_name(node)
    package = scope.look_up(name, node.pos)
    if not isinstance(package, tree.BlockType) or package.kind != "package":
        raise Refused(node.pos, "main", f"{name} is not a package")
    parts = scope.unit.architecture.parts
    if name not in ARCHITECTURES or len(package.params) != len(parts):
        supported = " and ".join(f"{each.name}'s {each.package}" for each in ARCHITECTURES.values())
        raise Refused(node.pos, f"package {name}", f"only {supported} are supported")
    if len(node.args) != len(parts):
        raise Refused(node.pos, name, f"{len(node.args)} arguments for {len(parts)} parameters")
    named = {arg.name: arg for arg in node.args if arg.name}
    blocks: dict[str, ir.Block] = {}
    for part, param, positional in zip(parts, package.params, node.args, strict=True):
        arg = named.get(param.name, positional) if named else positional
        if arg.value is None:
            raise Refused(arg.pos, param.name, "needs an instance")
        block = object_argument(arg.value, scope, param.name, "", of_package=True)
        if not isinstance(block, ir.Block):
            raise Refused(arg.pos, param.name, "must be a parser or control")
        blocks[part] = block
    headers, metadata = _match_package(package, blocks, scope, node.pos)
    return _assemble_program(scope, node, blocks, headers, metadata)


def _match_package(
    package: tree.BlockType, blocks: dict[str, ir.Block], scope: Scope, pos: Pos
) -> tuple[t.Type, t.Type]:
    """Return the package's types H and M; raises Refused when a block's parameters do not fit."""
    bindings: dict[t.Variable, t.Type] = {}
    h, m = t.Variable("H", "package"), t.Variable("M", "package")
    for param, block in zip(package.params, blocks.values(), strict=True):
        assert isinstance(param.type, tree.Specialized)
        declaration = scope.look_up(param.type.base.name, pos)
        assert isinstance(declaration, tree.BlockType)
        if block.kind != declaration.kind or len(block.params) != len(declaration.params):
            raise Refused(block.pos, block.name, f"does not have the form of a {declaration.name}")
        inner = scope.inner()
        for name, variable in zip(declaration.type_params, (h, m), strict=False):
            inner.declare(name, variable, pos)
        for formal, actual in zip(declaration.params, block.params, strict=True):
            type_ = resolve_type(formal.type, inner)
            unify_types(type_, actual.type, bindings)
            if formal.direction != actual.direction or t.substitute_types(type_, bindings) != actual.type:
                why = f"{declaration.name} needs {formal.direction} {t.substitute_types(type_, bindings)}"
                raise Refused(block.pos, f"{block.name}: {actual.name}", why)
    return bindings[h], bindings[m]


def _assemble_program(
    scope: Scope, node: tree.Instance, blocks: dict[str, ir.Block], headers: t.Type, metadata: t.Type
) -> ir.Program:
    unit = scope.unit
    tables = [table for table in unit.tables if table.applied]
    for index, table in enumerate(tables):
        table.index = index
    standard = scope.look_up("standard_metadata_t", node.pos)
    assert isinstance(standard, t.Struct)
    if not isinstance(headers, t.Struct) or headers.kind != "struct":
        raise Refused(node.pos, "main", f"the headers must be a struct, not {headers}")
    if not isinstance(t.unwrap_type(metadata), t.Struct):
        raise Refused(node.pos, "main", f"the metadata must be a struct, not {metadata}")
    if unit.architecture is XSA and t.fixed_width(metadata) is None:
        raise Refused(node.pos, "main", f"{metadata} has no fixed width, which user metadata must have")
    return ir.Program(
        architecture=unit.architecture.name, parts=blocks,
        headers=headers, metadata=metadata, standard=standard, errors=unit.errors,
        functions=tuple(unit.functions.values()), blocks=tuple(unit.blocks), instances=tuple(unit.instances),
        tables=tuple(tables), value_sets=tuple(unit.value_sets),
        structs=tuple(unit.structs), annotations=node.annotations,
    )  # fmt: skip
