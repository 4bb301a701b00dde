"""The two VitisNetP4 IPs: the properties of each on which the box relies."""

from dataclasses import dataclass

from olafctl.targets.opennic.registers import WINDOWS


@dataclass(frozen=True)
class Extern:
    """A UserExtern next to the IP: the bits of its input and of its answer."""

    out_bits: int
    in_bits: int


@dataclass(frozen=True)
class Ip:
    """One IP: its instance's name, and the address bits for which the box has room."""

    name: str
    number: int
    address_bits: int
    extern: Extern | None


FIVE_TUPLE_BITS = 104
_SIZES = {window.name: window.size for window in WINDOWS}
IPS = (
    Ip("vnp4_1", 1, _SIZES["vnp4_1"].bit_length() - 1, Extern(FIVE_TUPLE_BITS, 32)),
    Ip("vnp4_2", 2, _SIZES["vnp4_2"].bit_length() - 1, None),
)
