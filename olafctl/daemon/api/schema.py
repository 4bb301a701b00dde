"""The calls of the API ``olaf.v1``, as olaf.proto has them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.message_factory import GetMessageClass

from olafctl.daemon.api import olaf_pb2

_SERVICE = olaf_pb2.DESCRIPTOR.services_by_name["Olaf"]
SERVICE: str = _SERVICE.full_name


class ApiCall(NamedTuple):
    """Its messages' classes."""

    request: Any
    answer: Any
    streams: bool
    """Whether it answers with many of them."""


CALLS: Mapping[str, ApiCall] = {
    method.name: ApiCall(
        GetMessageClass(method.input_type), GetMessageClass(method.output_type), method.server_streaming
    )
    for method in _SERVICE.methods
}
