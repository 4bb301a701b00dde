"""P4Runtime's messages and calls, from the descriptors in the package ``p4runtime``.

An old compiler wrote that package's modules, and current protobuf refuses to run them. Each module holds its
file's descriptor as one literal, from which the message classes here are made.
"""

import ast
import re
from collections.abc import Sequence
from functools import partial
from importlib import import_module, util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import DecodeError

SERVICE = "p4.v1.P4Runtime"
_LITERAL = re.compile(rb"b'(?:[^'\\]|\\.)*'")
_POOL = descriptor_pool.Default()


class Malformed(Exception):
    """The bytes are not a message of the expected type."""


def parse_message(kind: Any, data: bytes) -> Any:
    """Return a message of a class from its bytes. Raises Malformed, also for a message nested too deeply."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise Malformed(f"not a {kind.DESCRIPTOR.name}: {error}") from None


def uint128_fields(number: int) -> dict[str, int]:
    """Return a ``p4.v1.Uint128``'s fields."""
    return {"high": number >> 64, "low": number & (1 << 64) - 1}


def number_of(message: Any) -> int:
    """Return the number that a ``p4.v1.Uint128`` holds."""
    return int(message.high << 64 | message.low)


def p4runtime_stub(
    channel: Any, timeout: float | None = None, metadata: Sequence[tuple[str, str]] = ()
) -> Any:
    """Return the calls of P4Runtime over a gRPC channel, by their names, each with ``metadata``.

    Calls that end have ``timeout`` seconds, unless a call is given another time.
    """
    calls = SimpleNamespace()
    for method in _POOL.FindServiceByName(SERVICE).methods:
        asks = "stream" if method.client_streaming else "unary"
        answers = "stream" if method.server_streaming else "unary"
        call = getattr(channel, f"{asks}_{answers}")(
            f"/{SERVICE}/{method.name}",
            request_serializer=message_factory.GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )
        bounds = {} if method.client_streaming else {"timeout": timeout}
        setattr(calls, method.name, partial(call, metadata=metadata or None, **bounds))
    return calls


def _message_classes(module: str) -> Any:
    """Return the message classes of a module of the package, by name."""
    found = util.find_spec(module)
    if found is None or found.origin is None:
        raise ImportError(f"{module} is missing: install the package p4runtime", name=module)
    literals = _LITERAL.findall(Path(found.origin).read_bytes())
    descriptor = ast.literal_eval(max(literals, key=len).decode())
    _POOL.AddSerializedFile(descriptor)
    file = _POOL.FindFileByName(module.removesuffix("_pb2").replace(".", "/") + ".proto")
    kinds = file.message_types_by_name.values()
    return SimpleNamespace(**{kind.name: message_factory.GetMessageClass(kind) for kind in kinds})


import_module("google.rpc.status_pb2")  # a P4Runtime message holds a message of it
_message_classes("p4.config.v1.p4types_pb2")
p4info_pb2: Any = _message_classes("p4.config.v1.p4info_pb2")
p4data_pb2: Any = _message_classes("p4.v1.p4data_pb2")
p4runtime_pb2: Any = _message_classes("p4.v1.p4runtime_pb2")
METHODS = tuple(method.name for method in _POOL.FindServiceByName(SERVICE).methods)
"""The names of the service's calls."""
