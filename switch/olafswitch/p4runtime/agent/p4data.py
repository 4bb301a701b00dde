"""Values of P4 types as ``p4.v1.P4Data`` (P4Runtime §8.4), which registers and digests carry."""

from collections.abc import Iterator, Sequence
from typing import Any

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_implemented
from olafswitch.p4runtime.protocol import p4data_pb2


def decode_integer(types: Any, spec: Any, data: Any) -> int:
    """Return the data plane's unsigned value of data of an integer or boolean type."""
    kind, bits, signed = scalar_type(types, spec)
    got = data.WhichOneof("data")
    if got != kind:
        raise invalid_argument(f"the data is a {got or 'nothing'} where the type is a {kind}")
    if kind == "bool":
        return int(data.bool)
    decode = bytestrings.decode_signed if signed else bytestrings.decode_unsigned
    try:
        return decode(data.bitstring, bits) & (1 << bits) - 1
    except ValueError as error:
        raise Refusal(Code.OUT_OF_RANGE, str(error)) from None


def encode_integer(types: Any, spec: Any, value: int) -> Any:
    """Return the P4Data of a value of the data plane. Raises Refusal for other types."""
    kind, bits, signed = scalar_type(types, spec)
    if kind == "bool":
        return p4data_pb2.P4Data(bool=bool(value))
    if signed:
        negative = value >> (bits - 1) & 1
        return p4data_pb2.P4Data(bitstring=bytestrings.encode_signed(value - (negative << bits)))
    return p4data_pb2.P4Data(bitstring=bytestrings.encode_unsigned(value))


def encode_fields(types: Any, spec: Any, fields: Sequence[bytes]) -> Any:
    """Return the P4Data of a digest: ``fields`` are its integers' canonical byte strings, depth first."""
    left = iter(fields)
    data = _encode_fields(types, spec, left)
    if next(left, None) is not None:
        raise ValueError("the digest has more fields than its type")
    return data


def _encode_fields(types: Any, spec: Any, fields: Iterator[bytes]) -> Any:
    match spec.WhichOneof("type_spec"):
        case "struct":
            members = [member.type_spec for member in types.structs[spec.struct.name].members]
            return p4data_pb2.P4Data(
                struct={"members": [_encode_fields(types, each, fields) for each in members]}
            )
        case "tuple":
            made = [_encode_fields(types, member, fields) for member in spec.tuple.members]
            return p4data_pb2.P4Data(tuple={"members": made})
        case "header":
            strings = [next(fields) for _ in types.headers[spec.header.name].members]
            return p4data_pb2.P4Data(header={"is_valid": True, "bitstrings": strings})
    return encode_integer(types, spec, int.from_bytes(next(fields), "big"))


def scalar_type(types: Any, spec: Any) -> tuple[str, int, bool]:
    """Return the (oneof name, width in bits, signed) of an integer or boolean type, names resolved."""
    match spec.WhichOneof("type_spec"):
        case "bool":
            return "bool", 1, False
        case "bitstring":
            return _bitstring_width(spec.bitstring)
        case "new_type":
            new = types.new_types[spec.new_type.name]
            if new.WhichOneof("representation") == "translated_type":
                if new.translated_type.WhichOneof("sdn_type") != "sdn_bitwidth":
                    raise not_implemented("types translated to strings are not supported")
                return "bitstring", new.translated_type.sdn_bitwidth, False
            return scalar_type(types, new.original_type)
        case kind:
            raise not_implemented(f"values of type {kind} are not supported")


def _bitstring_width(spec: Any) -> tuple[str, int, bool]:
    match spec.WhichOneof("type_spec"):
        case "bit":
            return "bitstring", spec.bit.bitwidth, False
        case "int":
            return "bitstring", spec.int.bitwidth, True
        case _:
            raise not_implemented("varbit values are not supported")
