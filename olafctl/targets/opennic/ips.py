"""The two VitisNetP4 IPs: what the box takes for granted of each."""

from dataclasses import dataclass

from olafctl.targets.opennic.registers import WINDOWS


@dataclass(frozen=True)
class Extern:
    """A UserExtern next to the IP: bits that it is given and bits that it answers."""

    out_bits: int
    in_bits: int


@dataclass(frozen=True)
class Ip:
    """One IP: its instance's name, and the address bits that the box has room for."""

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
