"""The P4 sources of a testbed: the plain programs, and the one file that varies."""

from pathlib import Path

from olafctl import paths
from olafctl.membership import limits
from olafctl.templates import fill
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts
from olafswitch import cache


def sources_folder(testbed: Testbed) -> Path:
    """Return the folder with every P4 file of ``testbed``: one for each content, so that compilers see the
    same paths."""
    files = render_sources(testbed)

    def write(work: Path) -> None:
        for name, text in files.items():
            (work / name).write_text(text)

    made, _ = cache.build_once(
        "p4src", cache.digest([part for item in files.items() for part in item]), write
    )
    return made


def render_sources(testbed: Testbed) -> dict[str, str]:
    """Return every P4 file by name; ``vnp4_1.p4`` and ``vnp4_2.p4`` are the v1model tops."""
    files = {path.name: path.read_text() for path in sorted((paths.sources() / "p4src").glob("*.p4"))}
    files["params.p4"] = render_params(testbed.udp_port, testbed.control_tos)
    return files


def render_params(udp_port: int = layouts.UDP_PORT, control_tos: int = layouts.CONTROL_TOS) -> str:
    """Return ``params.p4``: the testbed's parameters of the programs, and the table sizes."""
    return fill(
        "p4/params.p4.j2",
        udp_port=udp_port,
        control_tos=control_tos,
        queue_port=layouts.QUEUE_PORT,
        cpu_port=layouts.CPU_PORT,
        between_engines=limits.BETWEEN_ENGINES.network_address.packed[0],
        workers_size=limits.WORKERS,
        parameter_servers_size=limits.PARAMETER_SERVERS,
        clusters_size=limits.CLUSTERS,
        refusals_size=limits.REFUSALS,
        links_size=limits.CHILDREN,
        forwarding_size=limits.FORWARDING,
        bridging_size=limits.BRIDGING,
    )
