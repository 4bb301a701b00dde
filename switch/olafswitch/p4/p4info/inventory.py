"""Objects of a program that the control plane sees, in the control plane's order.

Choice and order follow p4c, which writes P4Info after it has inlined controls, parsers and called actions and
removed unused objects: block by block of the package, and within a block in order of declaration.
"""

from collections.abc import Iterator, Sequence

from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir.walk import live_expressions


class Inventory:
    """One program's objects by kind, without objects that nothing reaches."""

    def __init__(self, program: ir.Program) -> None:
        reach = _Reach(program)
        declared = [list(_declared_items(block, reach)) for block in program.package]
        every = [item for items in declared for item in items]
        self.tables = [item for item in every if isinstance(item, ir.Table)]
        self.value_sets = [
            item for item in every if isinstance(item, ir.ValueSet) and item in reach.value_sets
        ]
        self.actions = _listed_actions(program, declared, reach)
        """Actions that tables or controls call; copies in several controls are one."""
        self.table_actions = {entry.action for table in self.tables for entry in table.actions}
        """Actions whose parameters the control plane fills."""
        self.externs = _ordered_externs([*_top_level(program), *every])
        """Extern objects, with those that belong to a table."""
        self.digest_calls = [
            call for block, items in zip(program.package, declared, strict=True)
            for call in _digest_calls(block, [item for item in items if isinstance(item, ir.Action)])
        ]  # fmt: skip
        """The calls that send digests, in p4c's order: in actions first, then in the inlined body."""
        self.calls_extern_functions = reach.extern_functions
        """Whether the program's controls call extern functions."""
        self.unread = [table for table in self.tables if table.meter and table.meter not in reach.meters]
        """Tables with a direct meter that no code reads."""


class _Reach:
    """The objects that the package's blocks reach, directly or not."""

    def __init__(self, program: ir.Program) -> None:
        self.found: set[ir.Block | ir.Table | ir.Function | ir.Action] = set()
        self.called: dict[ir.Action, None] = {}
        """The actions that controls themselves call, in order."""
        self.meters: set[ir.Instance | None] = set()
        """Direct meters that code reads."""
        self.value_sets: set[ir.ValueSet | None] = set()
        """Value sets that a select uses."""
        self.extern_functions = False
        """Whether controls call extern functions; calls in parsers do not count."""
        for block in program.package:
            self._in_parser = block.kind == "parser"
            self._enter(block)

    def _enter(self, found: ir.Block | ir.Table | ir.Function | ir.Action) -> None:
        if found in self.found:
            return
        self.found.add(found)
        match found:
            case ir.Table():
                for key in found.keys:
                    self._follow(key.value)
                for entry in found.actions:
                    self._enter(entry.action)
            case ir.Block():
                code: list[ir.Statement] = [*found.variables, found.body, *(s.body for s in found.states)]
                for part in code:
                    self._follow(part, found)
                for case in (case for state in found.states for case in state.transition.cases):
                    if isinstance(case.sets, ir.ValueSet):
                        self.value_sets.add(case.sets)
                    else:
                        self.value_sets |= {each.values for each in case.sets}
            case ir.Function() | ir.Action():
                self._follow(found.body)

    def _follow(self, code: ir.Statement | ir.Expr, block: ir.Block | None = None) -> None:
        for expr in live_expressions(code):
            match expr:
                case ir.Call(target=target) | ir.Apply(target=target) | ir.TableApply(table=target):
                    if block is not None and isinstance(target, ir.Action):
                        self.called[target] = None
                    self._enter(target)
                case ir.ExternCall(owner="") if not self._in_parser:
                    self.extern_functions = True
                case ir.ExternCall(owner="direct_meter", instance=meter):
                    self.meters.add(meter)


def _declared_items(block: ir.Block, reach: _Reach) -> Iterator[ir.Declaration]:
    """Yield the declarations of the block and, in their places, of the blocks inside it."""
    for item in (*block.locals, *block.direct):
        if isinstance(item, ir.Block):
            if item in reach.found:
                yield from _declared_items(item, reach)
        elif not isinstance(item, ir.Table) or item in reach.found:
            yield item


def _listed_actions(
    program: ir.Program, declared: Sequence[Sequence[ir.Declaration]], reach: _Reach
) -> list[ir.Action]:
    """Return the actions; in each of the package's controls first those declared outside of controls."""
    named: dict[str, ir.Action] = {}
    for block, items in zip(program.package, declared, strict=True):
        tables = [item for item in items if isinstance(item, ir.Table)]
        copies = {action for each in _nested_blocks(block) for action in each.actions}
        used = dict.fromkeys(entry.action for table in tables for entry in table.actions)
        used |= {action: None for action in reach.called if action in copies}
        own = [item for item in items if isinstance(item, ir.Action)]
        for action in (*(a for a in used if a not in own), *(a for a in own if a in used)):
            named.setdefault(action.name, action)
    return list(named.values())


def _digest_calls(block: ir.Block, actions: Sequence[ir.Action]) -> Iterator[ir.ExternCall]:
    for code in (*(action.body for action in actions), block.body):
        yield from _digests_in(code)


def _digests_in(code: ir.Statement) -> Iterator[ir.ExternCall]:
    for expr in live_expressions(code):
        match expr:
            case ir.Call(target=target) | ir.Apply(target=target):
                yield from _digests_in(target.body)
            case ir.ExternCall(owner="", method="digest"):
                yield expr


def _nested_blocks(block: ir.Block) -> Iterator[ir.Block]:
    yield block
    for item in (*block.locals, *block.direct):
        if isinstance(item, ir.Block):
            yield from _nested_blocks(item)


def _top_level(program: ir.Program) -> list[ir.Instance]:
    inside = {item for block in program.blocks for item in block.locals}
    return [each for each in program.instances if not each.in_table and each not in inside]


def _ordered_externs(items: Sequence[ir.Declaration]) -> list[ir.Instance]:
    """Return extern objects in order; direct ones, and those that tables make, at their table's place."""
    attached = {each for item in items if isinstance(item, ir.Table) for each in item.attached}
    with_table = {each for each in attached if each.in_table or each.type.name.startswith("direct_")}
    found: dict[ir.Instance, None] = {}
    for item in items:
        if isinstance(item, ir.Instance) and item not in with_table:
            found[item] = None
        elif isinstance(item, ir.Table):
            found |= {each: None for each in item.attached if each in with_table}
    return list(found)
