"""Verilog with the documented ports of a VitisNetP4 IP, to be in its place."""

from pathlib import Path

from olafctl.targets.opennic.ips import Ip
from olafctl.targets.opennic.metadata import fields, width
from olafctl.templates import fill_in

TEMPLATES = Path(__file__).parent / "templates"


def stub(ip: Ip) -> str:
    """A module with the IP's ports and nothing in it."""
    return fill_in(TEMPLATES, "vnp4_stub.v.j2", ip=ip, meta_bits=width(fields()))


def rtl(ip: Ip, module: str) -> str:
    """Olaf's own Verilog of the program, the module ``module``, behind the IP's ports."""
    return fill_in(TEMPLATES, "vnp4_rtl.v.j2", ip=ip, module=module, meta_bits=width(fields()))


def model(ip: Ip) -> str:
    """A module that behaves by the IP's documentation, around a program that the bench runs."""
    return fill_in(TEMPLATES, "vnp4_model.sv.j2", ip=ip, meta_bits=width(fields()))
