"""Last-level cache misses of gathering, counted by valgrind's cachegrind: the same on every machine.

A simulation of a cache without prefetching or address translation: it counts the lines that a layout makes a
processor fetch, not how long that takes.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from olaf.experience import agents

from olaflab.papers.marl.figure8 import BATCH, WAYS, draw_rows
from olaflab.papers.marl.stacks import ACTIONS, Game
from olafswitch import toolchain
from olafswitch.errors import MissingTool, Problem

LINE = 64
LAST_LEVEL = f"{32 << 20},16,{LINE}"
_SOURCE = Path(__file__).parent / "native" / "gather.cpp"
_FLAGS = ("-std=c++20", "-O2", "-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns")
_COUNT = re.compile(r"LLd misses:\s+([\d,]+)")


@dataclass(frozen=True)
class Misses:
    """Misses of ``batches`` mini-batches of one trainer, without those of a program that gathers nothing."""

    layout: str
    way: str
    misses: int
    compulsory: int
    """Lines that the values fill, read once."""

    @property
    def over_compulsory(self) -> float:
        """Misses as a multiple of the compulsory ones."""
        return self.misses / self.compulsory


def count_misses(
    predators: int, rows: int, batches: int, progress: Callable[[str], None]
) -> Iterator[Misses]:
    """Count misses of arrays in each way, and of joint rows drawn uniformly. Raises MissingTool without
    valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingTool(Problem("cache misses are counted by valgrind", remedy="apt-get install valgrind"))
    game = Game(predators)
    sizes = [4 * size for seen in game.observations for size in (seen, ACTIONS, seen, 1, 1)]
    layout = agents(game.observations, [ACTIONS] * game.agents, following=False)
    arrays = ",".join(map(str, sizes))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "gather"
        toolchain.run_tool([*toolchain.cxx().command, *_FLAGS, "-o", str(program), str(_SOURCE)])

        def count(layout_name: str, stride: int, way: str) -> int:
            random = np.random.default_rng(7)
            indices = np.concatenate([draw_rows(random, rows, WAYS[way]) for _ in range(batches)])
            done = subprocess.run(
                [valgrind, "--tool=cachegrind", "--cache-sim=yes", f"--LL={LAST_LEVEL}",
                 "--cachegrind-out-file=/dev/null", str(program), layout_name, str(rows), str(stride)],
                input=indices.astype(np.uint32).tobytes(), capture_output=True, check=True,
            )  # fmt: skip
            found = _COUNT.search(done.stderr.decode())
            assert found is not None, done.stderr
            return int(found[1].replace(",", ""))

        wanted = [("arrays", arrays, sum(sizes), way) for way in WAYS]
        wanted.append(("joint rows", "joint", layout.row_bytes, "uniform"))
        nothing: dict[int, int] = {}
        for name, form, size, way in wanted:
            progress(f"counting the misses of {name}, {way}")
            if size not in nothing:
                nothing[size] = count("none", size, way)
            own = count(form, size, way) - nothing[size]
            yield Misses(name, way, own, batches * BATCH * size // LINE)
