"""An engine in shards: nothing lost or overtaken while clusters move, and no data race."""

import subprocess
from pathlib import Path

import pytest

from olafctl.queue.software import NATIVE, make_defines
from olafctl.targets.engine.compile import SOURCES as PIPELINE
from olafctl.wire.geometry import Geometry
from olafswitch.engine.compile import INCLUDES
from olafswitch.toolchain import cxx

_FLAGS = ("-std=c++20", "-O1", "-g", "-pthread", "-Wall", "-Wextra", f"-I{INCLUDES}")
_SOURCES = (
    INCLUDES / "olafswitch/engine/native/engine.cpp",
    *(PIPELINE / f"{part}.cpp" for part in ("network", "queue_stage", "shards")),
    Path(__file__).with_name("shards.cpp"),
)
_GEOMETRY = Geometry(indices=32, slots=16, beats=4)


@pytest.mark.slow
@pytest.mark.parametrize("sanitizers", ["thread", "address,undefined"])
def test_nothing_is_lost_or_overtaken_while_clusters_move(tmp_path: Path, sanitizers: str) -> None:
    program, queue, whole = tmp_path / "shards", tmp_path / "queue.so", tmp_path / "whole.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in _SOURCES))
    compiled = [*cxx().command, *_FLAGS, f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    subprocess.run([*compiled, str(whole), "-o", str(program)], check=True)
    library = [
        "-fPIC",
        "-shared",
        *make_defines(_GEOMETRY),
        str(NATIVE / "software_queue.cpp"),
        "-o",
        str(queue),
    ]
    subprocess.run([*compiled, *library], check=True)
    for shards in (2, 3):
        argv = [str(program), str(queue), str(shards), "20000"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        assert " 0 between" in done.stdout
