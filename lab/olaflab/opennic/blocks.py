"""The programs of the box as Verilog: what stands behind the ports of the two IPs."""

from olafctl.targets.opennic.ips import Ip
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4.verilog.compile import compile_module
from olafswitch.p4.verilog.module import Module

HASHES = {"worker_hash": "crc32"}
"""What the programs' user externs compute."""


def block(ip: Ip, text: str, file: str) -> Module:
    """An IP's program, preprocessed or as one file. Raises Refused."""
    return compile_module(preprocess_text(text, file), file, f"{ip.name}_program", HASHES)
