"""The calls of the API ``olaf.v1``, from olaf.proto."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.message_factory import GetMessageClass

from olafctl.daemon.api import olaf_pb2

_SERVICE = olaf_pb2.DESCRIPTOR.services_by_name["Olaf"]
SERVICE: str = _SERVICE.full_name


class ApiCall(NamedTuple):
    """A call's classes of messages."""

    request: Any
    answer: Any
    streams: bool
    """Whether the call answers with many messages."""


CALLS: Mapping[str, ApiCall] = {
    method.name: ApiCall(
        GetMessageClass(method.input_type), GetMessageClass(method.output_type), method.server_streaming
    )
    for method in _SERVICE.methods
}
