"""The plug-in for OpenNIC's shell: everything that Vivado needs next to a checkout of open-nic-shell.

It contains no part of the shell. :func:`assemble_plugin` makes it for an OlafQueue and its P4 sources;
:func:`build_command` returns the command to run then, on a machine with Vivado.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from google.protobuf import text_format

from olafctl import paths
from olafctl.queue import verilog
from olafctl.targets.opennic import blocks
from olafctl.targets.opennic.ips import IPS, Ip
from olafctl.targets.opennic.metadata import bus_width, list_fields
from olafctl.targets.opennic.registers import MAP_VERSION
from olafctl.templates import fill
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.p4.compiler import p4info_of
from olafswitch.p4.syntax.preprocess import preprocess_file

BOARD = "au55c"
MAX_BYTES = 9216
"""The longest frame that the box accepts."""
MAX_PKT_LEN = 9600
"""The longest frame of OpenNIC's shell: a frame with the additions of VNP4₂ and the host header fits."""
STRATEGY = "Performance_ExplorePostRoutePhysOpt"
LAST_STEP = "post_route_phys_opt_design"
PROPERTIES = (
    ("TDATA_NUM_BYTES", "64"),
    ("AXIS_CLK_FREQ_MHZ", "250.0"),
    ("CAM_MEM_CLK_FREQ_MHZ", "250.0"),
    ("PKT_RATE", "125"),
    ("OUTPUT_METADATA_FOR_DROPPED_PKTS", "false"),
)
CROSSINGS = (
    ("crossing/asked_reg*", "crossing/asked_there_reg[0]"),
    ("crossing/answered_reg*", "crossing/answered_here_reg[0]"),
    *((f"crossing/{name}_reg*", "") for name in ("is_write", "addr", "data", "resp", "read")),
    ("reset/held_reg*", "reset/axis_there_reg[0]"),
    ("reset/held_reg*", "reset/ref_there_reg[0]"),
    ("reset/draining_reg*", "reset/pause_there_reg[0]"),
    ("reset/rests_reg*", "reset/resting_here_reg[0]"),
    ("reset/takes_reg*", "reset/ready_here_reg[0]"),
)
"""The registers between which a signal changes clock, by instance in ``olaf_box_250mhz``."""
FASTEST_CLOCK_NS = 4.0
MANIFEST = "manifest.json"
CLIENT_P4INFO = "agent/{}.p4info.txtpb"
"""The P4Info of an IP's program as P4Runtime clients see it."""
IP_P4INFO = "agent/{}.ip.p4info.txtpb"
"""The P4Info of the IP's content, for the agent."""
TABLES = "agent/{}.tables.json"
"""The agent's description of a block of Olaf's own: its tables, counters and registers."""
DEVICE_CONFIG = "agent/{}.json"
"""The device config that a controller pushes for an IP."""
VITIS_MACRO = "VITISNETP4"
"""The macro that is defined where the programs become IPs of VitisNetP4."""
RUN = "run.tcl"
_NO_MAP = "// The box decodes its addresses itself: olaf_box_decoder.v.\n"
_NO_CROSSBAR = "# The box decodes its addresses itself: it needs no crossbar.\n"


@dataclass(frozen=True)
class Plugin:
    """A plug-in's files by name, and the build id in its registers, bitstream and manifest."""

    build_id: str
    """Eight hexadecimal digits."""
    files: Mapping[str, str]

    def write(self, folder: Path) -> None:
        """Write every file below ``folder``."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def assemble_plugin(queue: Geometry, p4: Path, vitis: bool = False) -> Plugin:
    """Return the plug-in with OlafQueue of these parameters and the P4 sources in the folder ``p4``; with
    ``vitis`` VNP4₁ and VNP4₂ are VitisNetP4 IPs.

    Raises OlafError when the P4 is wrong, or is outside of what becomes Verilog.
    """
    fixed = {
        **list_box_files(queue, p4, vitis),
        "build_box_250mhz.tcl": fill(
            "opennic/build_box_250mhz.tcl.j2", board=BOARD, least_max_pkt_len=MAX_PKT_LEN, vitis=vitis
        ),
        "clocks.tcl": fill("opennic/clocks.tcl.j2", crossings=CROSSINGS, period=FASTEST_CLOCK_NS),
        "box_250mhz/box_250mhz_address_map_inst.vh": _NO_MAP,
        "box_250mhz/box_250mhz_address_map.v": _NO_MAP,
        "box_250mhz/box_250mhz_axi_crossbar.tcl": _NO_CROSSBAR,
    }
    return bind_files(fixed, lambda build_id: _with_id(build_id, vitis), queue, BOARD)


def list_box_files(queue: Geometry, p4: Path, vitis: bool = False) -> dict[str, str]:
    """Return the files that every shell's build has: the box's Verilog, and the agent's descriptions. Raises
    as :func:`assemble_plugin`."""
    own = {
        ip: preprocess_file(p4 / f"{ip.name}_xsa.p4", (), {VITIS_MACRO: "1"} if vitis else {}) for ip in IPS
    }
    return {
        **{f"hdl/{name}": text for name, text in _rtl_files(queue).items()},
        **(_vitis_files(p4) if vitis else _own_files(own)),
        **{IP_P4INFO.format(ip.name): _p4info_files(text) for ip, text in own.items()},
        **{CLIENT_P4INFO.format(ip.name): _p4info_files(preprocess_file(p4 / f"{ip.name}.p4")) for ip in IPS},
    }


def bind_files(
    fixed: Mapping[str, str], with_id: Callable[[str], Mapping[str, str]], queue: Geometry | None, board: str
) -> Plugin:
    """Return ``fixed``, the files of ``with_id`` with the build id, the agent's and the manifest; without a
    ``queue``, only the first two.

    The build id is the digest of all of them with zeros in its place.
    """

    def fill_in(build_id: str) -> dict[str, str]:
        known = {DEVICE_CONFIG.format(ip.name): {"ip": ip.name, "build_id": build_id} for ip in IPS}
        configs = {name: json.dumps(config) + "\n" for name, config in known.items() if queue}
        return {**fixed, **with_id(build_id), **configs}

    build_id = cache.digest(part for item in sorted(fill_in("0" * 8).items()) for part in item)[:8]
    files = fill_in(build_id)
    if queue:
        files[MANIFEST] = _write_manifest(build_id, queue, files, board)
    return Plugin(build_id, files)


def build_command(folder: Path, shell: str = "<open-nic-shell>") -> str:
    """Return the one command that builds the bitstream, on a machine with Vivado and OpenNIC's shell."""
    return f"vivado -mode batch -source {shlex.quote(str(folder.resolve() / RUN))} -tclargs {shell}"


def _own_files(programs: Mapping[Ip, str]) -> dict[str, str]:
    """Return the programs' Verilog, and its descriptions for the agent."""
    made = {ip.number: blocks.compile_block(ip, text, f"{ip.name}_xsa.p4") for ip, text in programs.items()}
    return {
        **{f"hdl/{name}": text for name, text in blocks.write_blocks(made).items()},
        **{TABLES.format(ip.name): json.dumps(made[ip.number].description) + "\n" for ip in IPS},
    }


def _vitis_files(p4: Path) -> dict[str, str]:
    """Return the places of the IPs and their build files, for the programs ``p4/vnp4_1.p4`` and
    ``p4/vnp4_2.p4``."""
    sources = {f"p4/{path.name}": path.read_text() for path in p4.glob("*.p4")}
    tops = {f"p4/{ip.name}.p4": f'#define {VITIS_MACRO} 1\n#include "{ip.name}_xsa.p4"\n' for ip in IPS}
    return {
        **sources,
        **tops,
        **{f"hdl/olaf_box_{ip.name}.v": blocks.write_place(ip, vitis=True) for ip in IPS},
        "ips.tcl": fill(
            "opennic/ips.tcl.j2", ips=IPS, meta_bits=bus_width(list_fields()), properties=PROPERTIES
        ),
    }


def _p4info_files(program: str) -> str:
    return str(text_format.MessageToString(p4info_of(program, "program.p4")))


def _with_id(build_id: str, vitis: bool) -> dict[str, str]:
    arguments = (
        ("-board", BOARD),
        ("-tag", f"olaf_{build_id}"),
        ("-num_cmac_port", "2"),
        ("-num_phys_func", "2"),
        ("-max_pkt_len", str(MAX_PKT_LEN)),
        ("-rebuild", "1"),
        ("-overwrite", "1"),
        ("-impl", "0"),
        ("-post_impl", "0"),
        ("-bitstream_userid", f"0x{build_id}"),
        ("-bitstream_usr_access", f"0x{build_id}"),
    )
    return {
        RUN: fill(
            "opennic/run.tcl.j2",
            arguments=arguments,
            strategy=STRATEGY,
            last_step=LAST_STEP,
            build_id=build_id,
        ),
        "box_250mhz/user_plugin_250mhz_inst.vh": fill(
            "opennic/user_plugin_250mhz_inst.vh.j2",
            build_id=build_id,
            max_bytes=MAX_BYTES,
            least_max_pkt_len=MAX_PKT_LEN,
            at_ref=int(vitis),
            axil=[name for name, _, _ in blocks.AXIL if name != "wstrb"],
        ),
    }


def _rtl_files(queue: Geometry) -> dict[str, str]:
    own = (paths.sources() / "hdl" / "opennic").glob("*.v*")
    return {**verilog.render_sources(queue), **{path.name: path.read_text() for path in own}}


def _write_manifest(build_id: str, queue: Geometry, files: Mapping[str, str], board: str) -> str:
    return json.dumps(
        {
            "build_id": build_id,
            "board": board,
            "register_map": MAP_VERSION,
            "metadata_bits": bus_width(list_fields()),
            "queue": asdict(queue),
            "files": {name: cache.digest([text]) for name, text in sorted(files.items())},
        },
        indent=2,
    )
