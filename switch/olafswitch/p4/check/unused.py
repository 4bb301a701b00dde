"""Functions, actions, parsers and controls that nothing uses: checked as p4c checks them, and left out."""

from olafswitch.p4.check.actions import make_action, make_function
from olafswitch.p4.check.blocks import Argument, instantiate_block
from olafswitch.p4.check.scope import Scope, Value
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.syntax import tree


def check_unused(declarations: tree.Program, scope: Scope) -> None:
    """Check what the instances of ``main`` did not need; ``scope`` is the one at top level.

    What this adds to the unit comes after the program was assembled, and belongs to no program.
    Raises Refused at the first thing that is wrong or not supported.
    """
    unit = scope.unit
    functions = {declaration for declaration, _ in unit.functions}
    places = {block.pos for block in unit.blocks}
    places |= {action.pos for block in unit.blocks for action in block.actions}
    for node in declarations:
        match node:
            case tree.Function() if id(node) not in functions:
                owner = f"{node.name}@{node.pos}"
                types = tuple(t.Variable(param, owner) for param in node.signature.type_params)
                make_function(node, types, scope, node.pos)
            case tree.ActionDeclaration() if node.pos not in places:
                make_action(node, scope, "", ir.Block("control", "", "", ()))
            case tree.Parser() | tree.Control() if node.pos not in places:
                given = _stand_ins(node, scope)
                if given is not None:
                    instantiate_block(node, given, scope, node.name, (), node.pos)


def _stand_ins(node: tree.Parser | tree.Control, scope: Scope) -> dict[str, Argument] | None:
    """Arguments for the constructor; None where it takes a parser or control, whose body is not known."""
    made: dict[str, Argument] = {}
    for param in node.constructor:
        type_ = resolve_type(param.type, scope)
        if isinstance(type_, t.BlockType):
            return None
        if isinstance(type_, t.Extern):
            name = scope.unit.unique(param.name)
            made[param.name] = ir.Instance(param.name, name, type_, {}, (), param.pos)
        else:
            made[param.name] = Value(
                ir.Const(type_, _find_some(type_)), False, "is a constructor's parameter"
            )
    return made


def _find_some(type_: t.Type) -> int | bool:
    """A value that every width and every enumeration has, and that can divide."""
    base = t.strip_type(type_)
    return base.members[0][1] if isinstance(base, t.Enum) and base.members else base == t.BOOL or 1
