"""User metadata and user externs of an XSA pipeline, as numbers with their first field on top."""

from collections.abc import Mapping
from dataclasses import dataclass

from olafswitch.errors import BadInput


@dataclass(frozen=True)
class MetadataForm:
    """The user metadata's fields, name and width in bits, the most significant first."""

    fields: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The bytes of the packed metadata."""
        return (sum(width for _, width in self.fields) + 7) // 8

    def pack(self, values: Mapping[str, int]) -> bytes:
        """Return the bytes of the fields' values; missing values are 0.

        Raises BadInput for a field that does not exist or a value that does not fit.
        """
        widths = dict(self.fields)
        for name, value in values.items():
            if name not in widths:
                raise BadInput(f"user metadata: no field {name}; the fields are {', '.join(widths)}")
            if not 0 <= value < 1 << widths[name]:
                raise BadInput(f"user metadata: {name}: {value} does not fit in {widths[name]} bits")
        number = 0
        for name, width in self.fields:
            number = number << width | values.get(name, 0)
        return number.to_bytes(self.size, "big")

    def unpack(self, row: bytes) -> dict[str, int]:
        """Return the fields' values."""
        number = int.from_bytes(row, "big")
        values = {}
        for name, width in reversed(self.fields):
            values[name] = number & ((1 << width) - 1)
            number >>= width
        return {name: values[name] for name, _ in self.fields}


@dataclass(frozen=True)
class UserExtern:
    """One instance of UserExtern; widths in bits, the latency in clock cycles."""

    name: str
    input_width: int
    output_width: int
    latency: int

    @property
    def input_bytes(self) -> int:
        return (self.input_width + 7) // 8

    @property
    def output_bytes(self) -> int:
        return (self.output_width + 7) // 8

    def encode(self, result: int) -> bytes:
        """Return a result's bytes; raises BadInput when it does not fit."""
        if not 0 <= result < 1 << self.output_width:
            raise BadInput(f"user extern {self.name}: {result:#x} does not fit in {self.output_width} bits")
        return result.to_bytes(self.output_bytes, "big")
