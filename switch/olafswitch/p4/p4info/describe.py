"""The description of a program for the control plane: ``p4.config.v1.P4Info`` (P4Runtime §6).

Ids are given by ``@id``, or made of the prefix of the kind and a hash of the name, as p4c makes them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from olafswitch.p4.emit.places import Places
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.p4info.annotations import add_annotations, describe_package, is_hidden
from olafswitch.p4.p4info.ids import Ids, field_ids
from olafswitch.p4.p4info.inventory import Inventory
from olafswitch.p4.p4info.type_specs import TypeInfo
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import control_plane_name, only_number
from olafswitch.p4.syntax.tree import Annotations
from olafswitch.p4runtime.protocol import p4info_pb2


def _parameter_name(param: ir.Parameter) -> str:
    return control_plane_name(param.name, "", param.annotations)


def _numbered_parameters(action: ir.Action) -> list[tuple[int, ir.Parameter]]:
    """Return the parameters that the control plane gives an action, with ids."""
    ids = field_ids([param.annotations for param in action.data])
    return list(zip(ids, action.data, strict=True))


def _flatten_header(type_: t.Struct, path: str) -> Iterator[tuple[str, t.Type, Annotations]]:
    """Yield a header's fields; fields of structs in it have dotted names."""
    assert type_.declaration is not None
    for (name, inner), node in zip(type_.fields, type_.declaration.fields, strict=True):
        base = t.unwrap_type(inner)
        if isinstance(base, t.Struct):
            yield from _flatten_header(base, f"{path}{name}.")
        else:
            yield path + name, inner, node.annotations


Digest = tuple[str, t.Type, ir.ExternCall]
"""A digest's name, its type, and a call that sends it."""
ControllerHeader = tuple[str, t.Struct, tree.StructLike]
"""The name that ``@controller_header`` gives, the header and its declaration."""
_ARRAYS = ("counter", "direct_counter", "meter", "direct_meter", "register")
_SELECTOR_SIZES = ("max_group_size", "selector_size_semantics", "max_member_weight")


def _extern_kind(instance: ir.Instance) -> str:
    """Return the kind of an extern object as P4Info names it."""
    name = instance.type.name
    return {"action_selector": "action_profile", "Counter": "counter"}.get(name, name)


def _controller_headers(program: ir.Program) -> Iterator[ControllerHeader]:
    for type_ in program.structs:
        declaration = type_.declaration
        for annotation in declaration.annotations if declaration else ():
            if annotation.name == "controller_header" and annotation.body and declaration:
                yield annotation.body[0][1][1:-1], type_, declaration


class Describer:
    """A writer of a program's P4Info."""

    def __init__(self, program: ir.Program, places: Places, digests: Sequence[Digest]) -> None:
        self.program = program
        self.places = places
        self.digests = digests
        self.inventory = Inventory(program)
        self.headers = list(_controller_headers(program))
        self._names = {
            *(x.name for x in self.inventory.tables), *(x.name for x in self.inventory.actions),
            *(x.name for x in self.inventory.externs), *(x.name for x in self.inventory.value_sets),
            *(name for name, _, _ in digests), *(type_.name for _, type_, _ in self.headers),
        }  # fmt: skip
        self.ids = Ids()
        self.info = p4info_pb2.P4Info()
        self.info.pkg_info.arch = program.architecture
        describe_package(self.info.pkg_info, program.annotations)
        self.types = TypeInfo(self.info, program.errors)
        for table in self.inventory.unread:
            raise Refused(
                table.pos, f"table {table.name}", "nothing reads its direct meter, which p4c refuses"
            )
        self._check_names()
        self._assign()

    def _check_names(self) -> None:
        """Raise Refused when two actions, used or not, share a name; copies of one action may."""
        declared: dict[str, ir.Action] = {}
        for action in (action for block in self.program.blocks for action in block.actions):
            known = declared.setdefault(action.name, action)
            if known.pos != action.pos:
                why = f"conflicting control plane name: also that of the action at {known.pos}"
                raise Refused(action.pos, action.name, why)

    def _assign(self) -> None:
        ids, inventory = self.ids, self.inventory
        ids.assign("table", [(x.name, x.annotations, x.pos) for x in inventory.tables])
        ids.assign("action", [(x.name, x.annotations, x.pos) for x in inventory.actions])
        ids.assign("value_set", [(x.name, x.annotations, x.pos) for x in inventory.value_sets])
        for kind in ("action_profile", *_ARRAYS):
            ids.assign(
                kind, [(x.name, x.annotations, x.pos) for x in inventory.externs if _extern_kind(x) == kind]
            )
        ids.assign("digest", [(name, (), node.pos) for name, _, node in self.digests])
        headers = [(type_.name, node.annotations, node.pos) for _, type_, node in self.headers]
        ids.assign("controller_header", headers)

    def describe(self) -> p4info_pb2.P4Info:
        """Return the P4Info.

        Raises Refused where P4Info cannot describe the program.
        """
        inventory = self.inventory
        declared = any(not instance.in_table for instance in inventory.externs)
        notes = [table.annotations for table in inventory.tables]
        notes += [action.annotations for action in inventory.table_actions if action.data]
        if declared or inventory.calls_extern_functions or not all(map(is_hidden, notes)):
            self.info.type_info.SetInParent()
        for table in inventory.tables:
            if not is_hidden(table.annotations):
                self._table(table)
        for action in inventory.actions:
            if not is_hidden(action.annotations):
                self._action(action)
        for instance in inventory.externs:
            if _extern_kind(instance) == "action_profile":
                self._profile(instance)
            else:
                self._array(instance)
        for values in inventory.value_sets:
            made = self.info.value_sets.add(size=values.size)
            self._preamble(made, "value_set", values.name, values.annotations)
            self._match_fields(made.match, values.keys)
        self._controller_headers()
        self._digests()
        return self.info

    def _preamble(self, made: Any, kind: str, name: str, annotations: Annotations) -> None:
        made.preamble.id = self.ids.of(kind, name)
        made.preamble.name = name
        made.preamble.alias = self._alias(name)
        add_annotations(made.preamble, annotations)

    def _alias(self, name: str) -> str:
        """Return the shortest suffix of the name with which no other name ends."""
        parts = name.split(".")
        for length in range(1, len(parts)):
            short = ".".join(parts[-length:])
            if sum(other == short or other.endswith("." + short) for other in self._names) <= 1:
                return short
        return name

    def _match_fields(self, rows: Any, keys: Sequence[ir.Key]) -> None:
        for id_, key in zip(field_ids([key.annotations for key in keys]), keys, strict=True):
            if key.kind == "selector":
                continue
            made = rows.add(id=id_, name=key.name, bitwidth=t.key_width(key.value.type) or 0)
            made.match_type = p4info_pb2.MatchField.MatchType.Value(key.kind.upper())
            add_annotations(made, key.annotations)
            self.types.name_in(made, key.value.type)

    def _table(self, table: ir.Table) -> None:
        made = self.info.tables.add(size=table.size, has_initial_entries=bool(table.entries))
        self._preamble(made, "table", table.name, table.annotations)
        self._match_fields(made.match_fields, table.keys)
        for entry in table.actions:
            ref = made.action_refs.add(id=self.ids.of("action", entry.action.name))
            if entry.scope:
                ref.scope = p4info_pb2.ActionRef.Scope.Value(entry.scope.upper())
                ref.annotations.append(f"@{entry.scope.replace('_', '')}")
            add_annotations(ref, tuple(a for a in entry.annotations if f"@{a.name}" not in ref.annotations))
        default = table.actions[table.default].action
        if table.default_const:
            made.const_default_action_id = self.ids.of("action", default.name)
        self._initial(made.initial_default_action, default, table.default_data)
        if table.profile is not None:
            made.implementation_id = self.ids.of("action_profile", table.profile.name)
        for instance, kind in ((table.counter, "direct_counter"), (table.meter, "direct_meter")):
            if instance is not None:
                made.direct_resource_ids.append(self.ids.of(kind, instance.name))
        if table.idle_timeout:
            made.idle_timeout_behavior = p4info_pb2.Table.NOTIFY_CONTROL
        made.is_const_table = table.entries_const

    def _initial(self, made: Any, action: ir.Action, data: Sequence[int]) -> None:
        made.action_id = self.ids.of("action", action.name)
        for (id_, param), value in zip(_numbered_parameters(action), data, strict=True):
            size = max(1, ((t.key_width(param.type) or 0) + 7) // 8)
            made.arguments.add(param_id=id_, value=value.to_bytes(size, "big"))

    def _action(self, action: ir.Action) -> None:
        made = self.info.actions.add()
        self._preamble(made, "action", action.name, action.annotations)
        for id_, param in _numbered_parameters(action) if action in self.inventory.table_actions else ():
            row = made.params.add(id=id_, name=_parameter_name(param))
            row.bitwidth = t.key_width(param.type) or 0
            add_annotations(row, param.annotations)
            self.types.name_in(row, param.type)

    def _profile(self, instance: ir.Instance) -> None:
        selector = instance.type.name == "action_selector"
        made = self.info.action_profiles.add(size=instance.number("size"), with_selector=selector)
        kept = tuple(a for a in instance.annotations if a.name not in _SELECTOR_SIZES)
        self._preamble(made, "action_profile", instance.name, kept)
        for table in self.inventory.tables:
            if table.profile is instance:
                made.table_ids.append(self.ids.of("table", table.name))
        given = {a.name: a for a in reversed(instance.annotations) if selector}
        if "max_group_size" in given:
            made.max_group_size = only_number(given["max_group_size"])
        semantics = given["selector_size_semantics"].body if "selector_size_semantics" in given else ()
        if semantics == (("TEXT", '"sum_of_members"'),):
            weight = given.get("max_member_weight")
            made.sum_of_members.max_member_weight = only_number(weight) if weight else 0
        elif semantics == (("TEXT", '"sum_of_weights"'),):
            made.sum_of_weights.SetInParent()

    def _table_of(self, instance: ir.Instance) -> int:
        tables = [
            table
            for table in self.inventory.tables
            if instance in (table.counter, table.meter) and not is_hidden(table.annotations)
        ]
        return self.ids.of("table", tables[0].name) if tables else 0

    def _array(self, instance: ir.Instance) -> None:
        kind = _extern_kind(instance)
        if kind not in _ARRAYS:
            return
        rows = getattr(self.info, f"{kind}s")
        if kind.startswith("direct") and not self._table_of(instance):
            return
        made = rows.add()
        self._preamble(made, kind, instance.name, instance.annotations)
        if kind.startswith("direct"):
            made.direct_table_id = self._table_of(instance)
        else:
            made.size = self.places.cells(instance)
        if kind == "register":
            self.types.describe(made.type_spec, instance.type.args[0])
        elif kind.endswith("meter"):
            made.spec.unit = p4info_pb2.MeterSpec.Unit.Value(instance.choice("type").upper())
        else:
            units = {"packets": "PACKETS", "bytes": "BYTES", "packets_and_bytes": "BOTH"}
            made.spec.unit = p4info_pb2.CounterSpec.Unit.Value(units[instance.choice("type").lower()])

    def _controller_headers(self) -> None:
        for name, type_, declaration in self.headers:
            if is_hidden(declaration.annotations):
                continue
            self.info.type_info.SetInParent()
            made = self.info.controller_packet_metadata.add()
            made.preamble.id = self.ids.of("controller_header", type_.name)
            made.preamble.name = made.preamble.alias = name
            made.preamble.annotations.append(f'@controller_header("{name}")')
            fields = list(_flatten_header(type_, ""))
            ids = field_ids([annotations for _, _, annotations in fields])
            for id_, (field, inner, annotations) in zip(ids, fields, strict=True):
                if is_hidden(annotations):
                    continue
                row = made.metadata.add(id=id_, name=field, bitwidth=t.max_width(inner))
                add_annotations(row, annotations)
                self.types.name_in(row, inner)

    def _digests(self) -> None:
        sent = [t.unwrap_type(call.given(1).type) for call in self.inventory.digest_calls]
        for name, type_, _ in sorted(self.digests, key=lambda each: sent.index(each[1])):
            made = self.info.digests.add()
            self._preamble(made, "digest", name, ())
            self.types.describe(made.type_spec, type_)
