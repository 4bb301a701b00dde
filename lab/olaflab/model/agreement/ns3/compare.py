"""Runs a scenario in both: the figures must agree, the speed must not."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import mean

from olaflab.model import library
from olaflab.model.library import native_arrays
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import Scenario
from olafswitch import cache, toolchain
from olafswitch.errors import MissingTool, OlafError, Problem

_SOURCE = Path(__file__).parent / "tree.cpp"
_FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")
_MODULES = ("core", "network", "internet", "point-to-point")


@dataclass(frozen=True)
class Ns3Cluster:
    """One cluster in ns-3."""

    generated: int
    delivered: int
    average_age: float | None
    """ns; None where nothing was received."""


@dataclass(frozen=True)
class Ns3Run:
    """A scenario in ns-3."""

    seconds: float
    """Processor time of the event loop alone."""
    events: int
    clusters: Sequence[Ns3Cluster]

    @property
    def total_generated(self) -> int:
        """Updates of all clusters."""
        return sum(cluster.generated for cluster in self.clusters)

    @property
    def delivered_share(self) -> float:
        """Delivered updates as a share of those generated."""
        return sum(cluster.delivered for cluster in self.clusters) / self.total_generated

    @property
    def average_age(self) -> float | None:
        """ns: the mean of the clusters' average ages; None when a cluster has none."""
        ages = [cluster.average_age for cluster in self.clusters if cluster.average_age is not None]
        return mean(ages) if len(ages) == len(self.clusters) else None


@dataclass(frozen=True)
class Ns3Comparison:
    """Both on the same scenario; speeds in updates a second of processor time."""

    name: str
    ours: Result
    theirs: Ns3Run
    our_seconds: float

    @property
    def age_difference(self) -> float | None:
        """Difference of the average ages, as a share of ns-3's; None when a cluster of either has none."""
        ours, theirs = self.ours.average_age, self.theirs.average_age
        return None if ours is None or theirs is None else abs(ours / theirs - 1)

    @property
    def our_speed(self) -> float:
        return self.ours.generated / self.our_seconds

    @property
    def their_speed(self) -> float:
        return self.theirs.total_generated / self.theirs.seconds


def compare_models(
    name: str, scenario: Scenario, duration: int, warm_up: int, progress: Callable[[str], None]
) -> Ns3Comparison:
    """Compare both from the same phases and jitter; ``duration`` and ``warm_up`` in ns.

    The scenario has a link of the same rate behind each engine's rate limiter, no trace, no segments and no
    transmission control. Raises MissingTool without ns-3 (pip install './lab[ns3]') or a compiler.
    """
    program = _build_program(progress)
    library.load_library()
    begin = time.process_time()
    ours = run_simulation(scenario, duration, warm_up=warm_up)
    seconds = time.process_time() - begin
    progress(f"{name}: {ours.generated} updates in ns-3")
    return Ns3Comparison(name, ours, _in_ns3(program, scenario, duration, warm_up), seconds)


def _in_ns3(program: Path, scenario: Scenario, duration: int, warm_up: int) -> Ns3Run:
    with tempfile.NamedTemporaryFile(suffix=".scenario") as file:
        file.write(native_arrays(scenario, duration, warm_up))
        file.flush()
        done = subprocess.run([str(program), file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        what = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise OlafError(Problem(what, "ns-3"))
    found = json.loads(done.stdout)
    clusters = [
        Ns3Cluster(row["generated"], row["delivered"], row["average_age"] or None)
        for row in found["clusters"]
        if row["generated"]
    ]
    return Ns3Run(found["seconds"], found["events"], clusters)


def _build_program(progress: Callable[[str], None]) -> Path:
    """Build the program, linked with the installed ns-3, when the cache does not hold it."""
    try:
        distribution = metadata.distribution("ns3")
    except metadata.PackageNotFoundError:
        raise MissingTool(Problem("ns-3 is not installed", remedy="pip install './lab[ns3]'")) from None
    home = Path(str(distribution.locate_file("ns3")))
    libraries = [next((home / "lib64").glob(f"libns3*-{module}.so"), None) for module in _MODULES]
    if None in libraries:
        raise MissingTool(Problem("has no libraries", str(home), "install the ns3 package from PyPI again"))
    compiler = toolchain.cxx()

    def build(work: Path) -> None:
        progress("compiling the scenario against ns-3")
        command = [
            *compiler.command,
            *_FLAGS,
            f"-I{library.NATIVE}",
            f"-I{library.RULES[0].parent}",
            "-isystem",
            str(home / "include"),
            str(_SOURCE),
            "-o",
            str(work / "tree"),
            *(str(one) for one in libraries),
            f"-Wl,-rpath,{home / 'lib64'}",
        ]
        toolchain.run_tool(command, where="compiling the scenario for ns-3")

    headers = sorted(library.NATIVE.glob("*.h"))
    key = cache.digest(
        [str(compiler), " ".join(_FLAGS), distribution.version, str(home), _SOURCE, *library.RULES, *headers]
    )
    folder, _ = cache.build_once("ns3", key, build)
    return folder / "tree"
