"""How P4Info describes types: ``P4DataTypeSpec`` and ``type_info`` (P4Runtime §6.4)."""

from collections.abc import Sequence
from typing import Any

from olafswitch.p4.ir import types as t
from olafswitch.p4.p4info.annotations import add_annotations
from olafswitch.p4.syntax.annotations import find_annotation
from olafswitch.p4.syntax.literals import parse_literal
from olafswitch.p4runtime.protocol import p4info_pb2


class TypeInfo:
    """A describer of types, which adds types that have names to ``info.type_info``."""

    def __init__(self, info: p4info_pb2.P4Info, errors: Sequence[str]) -> None:
        self._known = info.type_info
        self._errors = errors

    def describe(self, made: Any, type_: t.Type) -> None:
        """Fill a ``P4DataTypeSpec``."""
        match type_:
            case t.NewType(name=name):
                made.new_type.name = name
                self._new_type(type_)
            case t.Enum(name=name, underlying=None):
                made.enum.name = name
                if name not in self._known.enums:
                    for member, _ in type_.members:
                        self._known.enums[name].members.add(name=member)
            case t.Enum(name=name):
                made.serializable_enum.name = name
                self._serializable(type_)
            case t.Struct(kind="struct" | "header", name=name):
                specs = self._known.structs if type_.kind == "struct" else self._known.headers
                (made.struct if type_.kind == "struct" else made.header).name = name
                self._members(specs, type_)
            case t.Tuple(items=items):
                made.tuple.SetInParent()
                for item in items:
                    self.describe(made.tuple.members.add(), item)
            case t.Simple(name="bool"):
                made.bool.SetInParent()
            case t.Simple(name="error"):
                made.error.SetInParent()
                self._error()
            case t.Bit(width=width, signed=signed):
                (made.bitstring.int if signed else made.bitstring.bit).bitwidth = width

    def _members(self, specs: Any, type_: t.Struct) -> None:
        if type_.name in specs:
            return
        specs[type_.name].SetInParent()
        for field, inner in type_.fields:
            member = specs[type_.name].members.add(name=field)
            if type_.kind == "struct":
                self.describe(member.type_spec, inner)
            else:
                member.type_spec.bit.bitwidth = t.max_width(inner)

    def _error(self) -> None:
        if not self._known.error.members:
            self._known.error.members.extend(self._errors)

    def _serializable(self, type_: t.Enum) -> None:
        if type_.name in self._known.serializable_enums or type_.underlying is None:
            return
        spec = self._known.serializable_enums[type_.name]
        spec.underlying_type.bitwidth = type_.underlying.width
        size = (type_.underlying.width + 7) // 8
        for name, value in type_.members:
            spec.members.add(name=name, value=value.to_bytes(size, "big"))

    def _new_type(self, type_: t.NewType) -> None:
        if type_.name in self._known.new_types:
            return
        spec = self._known.new_types[type_.name]
        add_annotations(spec, type_.declaration.annotations if type_.declaration else ())
        translated = find_translation(type_)
        if translated is None:
            self.describe(spec.original_type, t.unwrap_type(type_))
        elif translated[1] is None:
            spec.translated_type.uri = translated[0]
            spec.translated_type.sdn_string.SetInParent()
        else:
            spec.translated_type.uri, spec.translated_type.sdn_bitwidth = translated[0], translated[1]

    def name_in(self, made: Any, type_: t.Type) -> None:
        """Set the type name of a key field or parameter, and its width as the control plane sees it."""
        if isinstance(type_, t.Enum):
            self._serializable(type_)
        if not isinstance(type_, t.NewType):
            return
        made.type_name.name = type_.name
        self._new_type(type_)
        translated = find_translation(type_)
        if translated is not None:
            made.bitwidth = translated[1] or 0


def find_translation(type_: t.NewType) -> tuple[str, int | None] | None:
    """Return ``@p4runtime_translation``'s URI and width (None: a string); None when it does not exist."""
    found = find_annotation(
        type_.declaration.annotations if type_.declaration else (), "p4runtime_translation"
    )
    if found is None:
        return None
    texts = [text for _, text in found.body]
    numbers = [parse_literal(text, found.pos).value for kind, text in found.body if kind == "INTEGER"]
    return texts[0][1:-1] if texts else "", numbers[-1] if numbers else None
