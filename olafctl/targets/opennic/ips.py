"""The two VitisNetP4 IPs: what the box takes for granted of each, and Verilog with their documented ports."""

from dataclasses import dataclass

from olafctl.targets.opennic.metadata import fields, width
from olafctl.targets.opennic.registers import WINDOWS
from olafctl.templates import fill


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


def stub(ip: Ip) -> str:
    """A module with the IP's ports and nothing in it."""
    return fill("opennic/vnp4_stub.v.j2", ip=ip, meta_bits=width(fields()))


def model(ip: Ip) -> str:
    """A module that behaves as the IP's documentation says, around a program that the bench runs."""
    return fill("opennic/vnp4_model.sv.j2", ip=ip, meta_bits=width(fields()))
