"""Message classes of other projects' gRPC services, made at run time from a table of their fields.

p4runtime-shell pins protobuf 3.20, for which no current generator makes Python code.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Fields = Mapping[str, tuple[int, str]]
"""A message's fields by name: their number, and a scalar type or the name of a message of the same table;
after ``repeated`` or ``oneof`` if so. Fields marked ``oneof`` exclude each other."""

_SCALARS = {"int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE, _OPTIONAL, _REPEATED = 11, 1, 3


def classes(package: str, messages: Mapping[str, Fields]) -> Mapping[str, Any]:
    """The message classes by name. Enumerations are their numbers: int32 on the wire."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, text) in fields.items():
            label, _, base = text.rpartition(" ")
            kind: dict[str, Any] = {"type": _SCALARS.get(base, _MESSAGE)}
            if base not in _SCALARS:
                kind["type_name"] = f".{package}.{base}"
            if label == "oneof":
                if not message.oneof_decl:
                    message.oneof_decl.add(name="choice")
                kind["oneof_index"] = 0
            kind["label"] = _REPEATED if label == "repeated" else _OPTIONAL
            message.field.add(name=field, number=number, **kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
