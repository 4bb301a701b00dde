"""Packets between controller and data plane, their metadata as the headers that the program declares."""

from collections.abc import Sequence
from typing import Any

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent.state.refusal import invalid
from olafswitch.p4runtime.program import Parameter
from olafswitch.p4runtime.protocol import p4runtime_pb2


def packet_out_frame(fields: Sequence[Parameter], packet: Any) -> bytes:
    """The frame of a ``p4.v1.PacketOut``, its packet_out header in front. Raises Refusal."""
    places = {field.id: field for field in fields}
    values: dict[int, int] = {}
    for metadata in packet.metadata:
        field = places.get(metadata.metadata_id)
        if field is None:
            raise invalid(f"the packet_out header has no field {metadata.metadata_id}")
        if field.id in values:
            raise invalid(f"packet_out field {field.name} is given twice")
        try:
            values[field.id] = bytestrings.decode(metadata.value, field.bits)
        except ValueError as error:
            raise invalid(f"packet_out field {field.name}: {error}") from None
    header = 0
    for field in fields:
        if field.id not in values:
            raise invalid(f"packet_out field {field.name} is missing")
        header = header << field.bits | values[field.id]
    size = _header_bytes(fields)
    spare = size * 8 - sum(field.bits for field in fields)
    return (header << spare).to_bytes(size, "big") + bytes(packet.payload)


def packet_in_message(fields: Sequence[Parameter], frame: bytes) -> bytes | None:
    """The StreamMessageResponse of a frame with its packet_in header; None if it is cut short."""
    size = _header_bytes(fields)
    if len(frame) < size:
        return None
    header = int.from_bytes(frame[:size], "big")
    left = size * 8
    response = p4runtime_pb2.StreamMessageResponse()
    response.packet.payload = frame[size:]
    for field in fields:
        left -= field.bits
        value = header >> left & (1 << field.bits) - 1
        response.packet.metadata.add(metadata_id=field.id, value=bytestrings.encode(value))
    return bytes(response.SerializeToString())


def _header_bytes(fields: Sequence[Parameter]) -> int:
    return (sum(field.bits for field in fields) + 7) // 8
