"""The box's two P4 blocks: Olaf's own Verilog of the programs, or VitisNetP4 IPs in their places."""

import json
from collections.abc import Mapping
from pathlib import Path

from olafctl.targets.opennic.ips import IPS, Ip
from olafctl.targets.opennic.metadata import bus_width, list_fields
from olafctl.templates import fill
from olafswitch import cache
from olafswitch.p4.compiler import own_digest
from olafswitch.p4.verilog.compile import compile_module, list_library
from olafswitch.p4.verilog.module import Module

HASHES = {"worker_hash": "crc32"}
"""The functions of the programs' user externs."""
HASH_LATENCY = 4
"""``WORKER_HASH_LATENCY`` of VNP4₁'s program."""
AXIL = (
    *(("awaddr", 20, "in"), ("awvalid", 1, "in"), ("awready", 1, "out"), ("wdata", 32, "in")),
    *(("wstrb", 4, "in"), ("wvalid", 1, "in"), ("wready", 1, "out"), ("bresp", 2, "out")),
    *(("bvalid", 1, "out"), ("bready", 1, "in"), ("araddr", 20, "in"), ("arvalid", 1, "in")),
    *(("arready", 1, "out"), ("rdata", 32, "out"), ("rresp", 2, "out"), ("rvalid", 1, "out")),
    ("rready", 1, "in"),
)
"""AXI4-Lite's signals, their bits and their direction at a block."""
_MODULE = "module.json"


def compile_block(ip: Ip, text: str, file: str) -> Module:
    """Return the Verilog of a block's preprocessed program, from the cache or compiled now. Raises
    Refused."""
    parts = [own_digest(), *(path.read_text() for path in list_library()), repr(HASHES), ip.name, text]

    def compile_to(folder: Path) -> None:
        made = compile_module(text, file, ip.name, HASHES)
        (folder / _MODULE).write_text(json.dumps(vars(made)))

    folder, _ = cache.build_once("p4-verilog", cache.digest(parts), compile_to)
    return Module(**json.loads((folder / _MODULE).read_text()))


def write_place(ip: Ip, vitis: bool = False) -> str:
    """Return the module ``olaf_box_IP``: the place in the box for a block of Olaf's own, or for an IP."""
    return fill(
        "opennic/olaf_box_block.v.j2",
        ip=ip,
        vitis=vitis,
        meta_bits=bus_width(list_fields()),
        axil=AXIL,
        hash_latency=HASH_LATENCY,
    )


def write_blocks(modules: Mapping[int, Module]) -> dict[str, str]:
    """Return every file of the two blocks, in their places."""
    files = {path.name: path.read_text() for path in list_library()}
    for ip in IPS:
        files[f"{ip.name}.v"] = modules[ip.number].text
        files[f"olaf_box_{ip.name}.v"] = write_place(ip)
    return files
