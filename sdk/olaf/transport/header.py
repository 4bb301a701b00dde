"""Pack and unpack headers on the wire as a struct of their fields."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from olaf.transport.port import Bytes

_Read = TypeVar("_Read", bound="Header")


class Header:
    """A header whose fields are what struct packs, in order."""

    _form: ClassVar[struct.Struct]
    _odd: ClassVar[tuple[tuple[int, int], ...]] = ()
    """Where the integers are for which struct has no code, and their bytes."""

    def pack(self) -> bytes:
        """Pack the header in network order. Raises struct.error or OverflowError for a value that does not
        fit."""
        values = list(vars(self).values())
        for place, size in self._odd:
            values[place] = values[place].to_bytes(size, "big")
        return self._form.pack(*values)

    @classmethod
    def unpack(cls: type[_Read], data: Bytes, start: int = 0) -> _Read:
        """Read the header that begins at byte ``start``."""
        values = list(cls._form.unpack_from(data, start))
        for place, _ in cls._odd:
            values[place] = int.from_bytes(values[place], "big")
        return cls(*values)


@dataclass
class Message(Header):
    """A header that begins with what it is."""

    action: int
