"""Find what a machine lacks to build the bitstream, before hours are spent."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from olafctl.targets.opennic.plugin import BOARD
from olafctl.templates import fill
from olafctl.testbed.model import BlockKind
from olafswitch.errors import Problem

OLDEST = (2023, 1)
"""The first Vivado with VitisNetP4's Checksum extern, which is known to make the shell's IPs."""
BEST = (2023, 2)
"""The first Vivado known to build the shell's own IPs for this board (docs/opennic.md)."""
SHELL = "940907f"
"""The commit of open-nic-shell for which the plug-in was made."""
LICENCES = {"cmac_usplus": "the 100G MAC, free of charge"}
VITIS_LICENCES = {"sdnet_p4": "VitisNetP4", "hcam_base": "VitisNetP4's CAM tables"}
_VARIABLES = ("XILINXD_LICENSE_FILE", "LM_LICENSE_FILE")
_ANSWER = re.compile(r"^Olaf: (.+)$", re.MULTILINE)
_FEATURE = re.compile(r"^\s*(?:INCREMENT|FEATURE)\s+(\S+)", re.MULTILINE)


def describe_needs(blocks: BlockKind) -> str:
    """Return a machine's requirements, on one line."""
    return (
        f"Vivado {BEST[0]}.{BEST[1]} (or {OLDEST[0]}.{OLDEST[1]} or later), the licence"
        f"{'s' if len(_licences_of(blocks)) > 1 else ''} {', '.join(_licences_of(blocks))}, "
        f"the board files of {BOARD} and a checkout of open-nic-shell {SHELL}"
    )


def _licences_of(blocks: BlockKind) -> dict[str, str]:
    return LICENCES if blocks is BlockKind.RTL else {**VITIS_LICENCES, **LICENCES}


def find_problems(blocks: BlockKind) -> Sequence[Problem]:
    """Return everything that is missing here, as far as it is known without starting a build."""
    shell = "no checkout of open-nic-shell is given"
    return [
        *_find_vivado_problems(),
        *_find_licence_problems(_licences_of(blocks)),
        Problem(shell, remedy="clone github.com/Xilinx/open-nic-shell"),
    ]


def ask_vivado(part: str, licences: dict[str, str]) -> Sequence[Problem]:
    """Return why the Vivado on PATH would not build for ``part``, in its words, and missing ``licences``."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ask.tcl").write_text(fill("corundum/ask.tcl.j2", part=part))
        command = ["vivado", "-mode", "batch", "-nojournal", "-nolog", "-source", "ask.tcl"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = [Problem(answer, part, "see AMD's UG973") for answer in _ANSWER.findall(done.stdout)]
    if done.returncode and not found:
        found.append(Problem(f"Vivado ended with {done.returncode}", part, "run `vivado -version`"))
    return [*found, *(_find_licence_problems(licences) if licences else ())]


def _find_vivado_problems() -> Iterator[Problem]:
    found = shutil.which("vivado")
    if found is None:
        yield Problem(
            "Vivado is not on PATH", remedy=f"install {_version_name(BEST)} and source settings64.sh"
        )
        return
    output = subprocess.run([found, "-version"], capture_output=True, text=True).stdout
    version = re.search(r"v(\d{4})\.(\d+)", output)
    if version is None:
        yield Problem("does not say its version", found, "run `vivado -version`")
    elif (int(version[1]), int(version[2])) < OLDEST:
        remedy = f"use {_version_name(BEST)}"
        yield Problem(f"Vivado {version[1]}.{version[2]} is too old", found, remedy)


def _find_licence_problems(wanted: dict[str, str]) -> Iterator[Problem]:
    places = [place for name in _VARIABLES for place in os.environ.get(name, "").split(os.pathsep) if place]
    if not places:
        yield Problem("no licence is set up", " or ".join(_VARIABLES), "set it to a file or to port@host")
        return
    files = [path for place in places if "@" not in place for path in _licence_files(Path(place))]
    if any("@" in place for place in places):
        return  # this is a server: only Vivado itself can ask it
    held = {feature for path in files for feature in _FEATURE.findall(path.read_text(errors="replace"))}
    for feature, what in wanted.items():
        if feature not in held:
            yield Problem(
                f"no licence {feature} ({what})", ", ".join(places), "get it from AMD's licensing site"
            )


def _licence_files(place: Path) -> list[Path]:
    return sorted(place.glob("*.lic")) if place.is_dir() else [place] if place.is_file() else []


def _version_name(version: tuple[int, int]) -> str:
    return f"Vivado {version[0]}.{version[1]}"
