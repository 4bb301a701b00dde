"""Check functions, actions, parsers and controls that nothing uses, as p4c does, and leave them out."""

from olafswitch.p4.check.actions import make_action, make_function
from olafswitch.p4.check.blocks import Argument, instantiate_block
from olafswitch.p4.check.scope import Scope, Value
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.syntax import tree


def check_unused(declarations: tree.Program, scope: Scope) -> None:
    """Check declarations that the instances of ``main`` do not need; ``scope`` is at top level.

    This adds to the unit only after the program was assembled, so the additions belong to no program. Raises
    Refused at the first thing that is wrong or not supported.
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
    """Return arguments for the constructor; None where it takes a parser or control of unknown body."""
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
    """Return a value that every width and every enumeration has, and that is a valid divisor."""
    base = t.strip_type(type_)
    return base.members[0][1] if isinstance(base, t.Enum) and base.members else base == t.BOOL or 1
