"""Build the Verilated OlafQueue: a shared library behind ``native/queue_model.h`` for each parameter set."""

import shutil
from collections.abc import Callable
from pathlib import Path

from olafctl import paths
from olafctl.queue import verilog
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.simulation.verilate import build_runtime, compile_objects, link_library, run_verilator
from olafswitch.toolchain import cxx, verilator_root

Progress = Callable[[str], None]

_NATIVE = Path(__file__).parent / "native"
_OWN = tuple(
    _NATIVE / name
    for name in (
        *("queue_model.cpp", "queue_model.h", "queue_probe.h", "queue_time.h"),
        *("verilated_stops.cpp", "verilated_stops.h"),
    )
)
_TUSER = Path(__file__).parent.parent / "wire" / "native" / "tuser.h"
_VERILATE = ("--x-assign", "fast", "--x-initial", "fast", "--prefix", "Volaf")
_COMPILE = (
    *("-std=c++17", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-DVL_USER_STOP", "-DVL_USER_FATAL", "-DVL_USER_FINISH"),
)
_FAST, _SELDOM_RUN = ("-O2",), ("-O0",)


def build_queue(geometry: Geometry, progress: Progress = lambda step: None) -> Path:
    """Return the shared library for ``geometry``, from the cache or built now (half a minute).

    ``progress`` gets each step. Raises MissingTool without Verilator or a C++ compiler, OlafError when the
    rendered instance does not fit the modules or the build fails.
    """
    return build_variant(geometry, verilog.sources_folder(geometry), (), str(geometry), progress)


def build_variant(
    geometry: Geometry, hdl: Path, native: tuple[Path, ...], title: str, progress: Progress
) -> Path:
    """Build as :func:`build_queue`, from the Verilog in ``hdl`` and with further C++ files."""
    root, compiler, files = verilator_root(), cxx(), (*_OWN, *native)
    top = Path(verilog.INSTANCE).stem
    options = (geometry, _VERILATE, _COMPILE, _FAST, _SELDOM_RUN)
    tools = (str(compiler), root / "bin" / "verilator_bin")
    key = cache.digest([repr(options), *tools, *sorted(hdl.glob("*.v*")), *files, _TUSER])
    library = f"{top}.so"

    def build(work: Path) -> None:
        progress(f"verilating OlafQueue of {title}")
        made = work / "verilated"
        run_verilator(root, top, made, [*_VERILATE, f"-I{hdl}", str(hdl / verilog.INSTANCE)])
        progress(f"compiling OlafQueue of {title}")
        sources = sorted(made.glob("*.cpp"))
        seldom_run = [source for source in sources if "Slow" in source.stem]
        often_run = [source for source in (*sources, *files) if source not in seldom_run]
        units = {
            "often": ([source for source in often_run if source.suffix == ".cpp"], _FAST),
            "seldom": (seldom_run, _SELDOM_RUN),
        }
        flags = [*_COMPILE, f"-DOLAF_INDICES={geometry.indices}", f"-I{_NATIVE}", f"-I{made}"]
        own = compile_objects(compiler, root, flags, units, work)
        its = [root / "include" / f"{name}.cpp" for name in ("verilated", "verilated_threads")]
        all_its = build_runtime("verilated", compiler, root, _COMPILE, {"runtime": (its, _FAST)})
        link_library(compiler, work / library, [*own, *all_its])
        shutil.rmtree(made)
        for each in own:
            each.unlink()
            each.with_suffix(".cpp").unlink()

    folder, _ = cache.build_once("queue", key, build)
    return folder / library


def verilog_sources() -> list[Path]:
    """Return the modules of OlafQueue and their included files, in a stable order."""
    return sorted((paths.sources() / "hdl").glob("olaf_*.v*"))
