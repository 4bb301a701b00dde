"""A testbed with everything needed to start it, and whether it runs already."""

import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path

from olafctl.control.store import RecordRole, Store, remedy_for
from olafctl.machines.everywhere import Everywhere
from olafctl.targets import deployment, front_ports, registry, rendered, testbeds
from olafctl.targets.front_ports import FrontPort
from olafctl.targets.interface import Build, Progress, Rewirable, Running, Target
from olafctl.testbed.machines import without_machines
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, MissingTool, OlafError, Problem
from olafswitch.ports.transport import Transport


@dataclass(frozen=True)
class Wanted:
    """A testbed with everything needed to start it."""

    testbed: Testbed
    target: Target
    build: Build
    state: Path
    hosts: bool
    """Whether its hosts have their own namespaces."""
    away: Collection[str] = ()
    """The machines that are left out."""

    @property
    def reached(self) -> Testbed:
        """The part of the testbed that works without the machines that are away."""
        return without_machines(self.testbed, self.away)


def place_target(testbed: Testbed, away: Collection[str] = ()) -> Target:
    """Return a testbed's target, here or on its machines except those ``away``."""
    return Everywhere(testbed.target, away) if testbed.machines else registry.get_target(testbed.target)


def target_of(testbed: Testbed, away: Collection[str] = ()) -> Target:
    """Return :func:`place_target`. Raises MissingTool when a program that it needs is not installed."""
    target = place_target(testbed, away)
    missing = target.missing()
    if missing:
        others = ", ".join(name for name in registry.target_names() if name != target.name)
        remedy = f"put it on PATH, or use another target ({others})"
        raise MissingTool(
            *(
                Problem(f"the target {target.name} needs {tool}", str(testbed.source), remedy)
                for tool in missing
            )
        )
    return target


def prepare_testbed(
    testbed: Testbed,
    state: Path,
    progress: Progress,
    with_hosts: bool = False,
    away: Collection[str] = (),
) -> Wanted:
    """Render, check and build ``testbed``, for the deployment in ``state``. Raises OlafError."""
    target = target_of(testbed, away)
    progress("rendering and checking")
    rendered.check_rendering(testbed)
    return Wanted(testbed, target, target.build(testbed, progress), state, with_hosts, away)


def check_startable(target: Target, testbed: Testbed, state: Path) -> None:
    """Raise BadInput for a testbed that cannot start here, while the old one still runs."""
    if problems := target.problems(testbed, state):
        raise BadInput(*problems)


def start_target(wanted: Wanted, progress: Progress) -> Running:
    """Start the processes and ports, with nothing programmed yet. Raises OlafError."""
    try:
        build = _copy_build(wanted.build, wanted.state)
        return wanted.target.start(wanted.testbed, build, wanted.state, progress)
    except OSError as error:
        what = f"cannot start: {error.strerror}"
        where = str(error.filename2 or error.filename or wanted.state)
        raise OlafError(Problem(what, where, remedy_for(error))) from error


def find_reusable(
    wanted: Wanted, store: Store, part: Callable[[Testbed], Testbed] = lambda whole: whole
) -> Running | None:
    """Return the running target, when it has this build and its ports fit or can be changed
    (:func:`list_rewiring`); None when it must start again. ``part`` selects the compared part of a recorded
    testbed."""
    records = [record for record in map(store.record, RecordRole) if record is not None]
    if not records or not _is_intact(wanted):
        return None
    beds = [wanted.testbed]
    for record in records:
        try:
            beds.append(part(testbeds.load_testbed(record.source, record.testbed)))
        except OlafError:
            return None
        if (record.target, record.build, *_wiring_of(beds[-1])) != (
            wanted.target.name,
            wanted.build.key,
            *_wiring_of(wanted.testbed),
        ):
            return None
    same = all(bed.ports == wanted.testbed.ports for bed in beds)
    ends = not same and any(port.transport is Transport.TAP for bed in beds for port in bed.ports)
    running = None if ends else wanted.target.find(wanted.testbed, wanted.state)
    if running is None or not running.alive():
        return None
    return running if same or (isinstance(running, Rewirable) and running.rewirable()) else None


def list_rewiring(wanted: Wanted, running: Running | None) -> Sequence[str]:
    """Return the front ports that ``running`` gets or loses while the others go on, as lines of a diff.
    Raises OlafError."""
    return running.rewiring(wanted.testbed) if isinstance(running, Rewirable) else ()


def rewire_ports(wanted: Wanted, running: Running, progress: Progress) -> tuple[str, ...]:
    """Change the front ports that :func:`list_rewiring` lists, and return its lines. Raises OlafError."""
    lines = tuple(list_rewiring(wanted, running))
    if lines and isinstance(running, Rewirable):
        progress("changing ports")
        running.rewire(wanted.testbed, progress)
    return lines


def ports_lost(folder: Path) -> Sequence[FrontPort]:
    """Return the front ports that the target started in ``folder`` has lost."""
    recorded = deployment.load_deployment(folder)
    return front_ports.find_lost(recorded.ports) if recorded else ()


def _wiring_of(testbed: Testbed) -> tuple[object, ...]:
    """Return the other parts that start with a testbed's processes, besides front ports: engines, in their
    order and places, and links."""
    names = tuple((engine.name, engine.machine, engine.shards) for engine in testbed.engines)
    return names, testbed.trunks, deployment.find_trunks(testbed)


def _is_intact(wanted: Wanted) -> bool:
    """Return whether the files next to the running processes are still the build, and their ports still
    exist."""
    if ports_lost(wanted.state):
        return False
    kept = wanted.state / "build"
    try:
        return all(
            source.is_dir() or cmp(source, kept / source.relative_to(wanted.build.folder), shallow=False)
            for source in wanted.build.folder.rglob("*")
        )
    except OSError:
        return False


def _copy_build(build: Build, state: Path) -> Build:
    """Return the build, copied next to the processes: the cache may be emptied at any time."""
    folder = state.resolve() / "build"
    shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(build.folder.rglob("*")):
        if source.is_dir():
            continue
        target = folder / source.relative_to(build.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return replace(build, folder=folder)
