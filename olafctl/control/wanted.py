"""A testbed with everything needed to bring it up, and whether what runs is it already."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path

from olafctl.control.store import Role, Store, remedy_for
from olafctl.machines.everywhere import Everywhere
from olafctl.targets import deployment, front_ports, registry, rendered, testbeds
from olafctl.targets.front_ports import FrontPort
from olafctl.targets.interface import Build, Progress, Running, Target
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, MissingTool, OlafError, Problem


@dataclass(frozen=True)
class Wanted:
    """A testbed with everything needed to bring it up."""

    testbed: Testbed
    target: Target
    build: Build
    state: Path
    hosts: bool
    """Whether its hosts have namespaces of their own."""


def placed(testbed: Testbed) -> Target:
    """A testbed's target, here or on its machines."""
    return Everywhere(testbed.target) if testbed.machines else registry.get(testbed.target)


def target_of(testbed: Testbed) -> Target:
    """A testbed's target. Raises MissingTool when a program that it needs is not installed."""
    target = placed(testbed)
    missing = target.missing()
    if missing:
        others = ", ".join(name for name in registry.names() if name != target.name)
        remedy = f"put it on PATH, or use another target ({others})"
        raise MissingTool(
            *(
                Problem(f"the target {target.name} needs {tool}", str(testbed.source), remedy)
                for tool in missing
            )
        )
    return target


def prepare(testbed: Testbed, state: Path, progress: Progress, with_hosts: bool = False) -> Wanted:
    """Render, check and build ``testbed``, for the deployment in ``state``. Raises OlafError."""
    target = target_of(testbed)
    progress("rendering and checking")
    rendered.check(testbed)
    return Wanted(testbed, target, target.build(testbed, progress), state, with_hosts)


def check_startable(target: Target, testbed: Testbed, state: Path) -> None:
    """Raises BadInput for what cannot start here, while what runs still does."""
    if problems := target.problems(testbed, state):
        raise BadInput(*problems)


def start(wanted: Wanted, progress: Progress) -> Running:
    """Its processes and ports, nothing programmed yet. Raises OlafError."""
    try:
        build = _copied(wanted.build, wanted.state)
        return wanted.target.start(wanted.testbed, build, wanted.state, progress)
    except OSError as error:
        what = f"cannot start: {error.strerror}"
        where = str(error.filename2 or error.filename or wanted.state)
        raise OlafError(Problem(what, where, remedy_for(error))) from error


def reusable(
    wanted: Wanted, store: Store, part: Callable[[Testbed], Testbed] = lambda whole: whole
) -> Running | None:
    """What runs, when it is this build on these ports; None when it must be started again. ``part`` gives
    what of a recorded testbed is to be compared."""
    records = [record for record in map(store.record, Role) if record is not None]
    if not records or not _is_intact(wanted):
        return None
    for record in records:
        try:
            recorded = part(testbeds.load(record.source, record.testbed))
        except OlafError:
            return None
        if (record.target, record.build, *_wiring(recorded)) != (
            wanted.target.name,
            wanted.build.key,
            *_wiring(wanted.testbed),
        ):
            return None
    running = wanted.target.find(wanted.testbed, wanted.state)
    return running if running is not None and running.alive() else None


def ports_lost(folder: Path) -> Sequence[FrontPort]:
    """The front ports that were taken away from what was started in ``folder``."""
    recorded = deployment.load(folder)
    return front_ports.lost(recorded.ports) if recorded else ()


def _wiring(testbed: Testbed) -> tuple[object, ...]:
    """What of a testbed is made when processes start: its engines, in their order and places, ports and
    links."""
    names = tuple((engine.name, engine.machine, engine.shards) for engine in testbed.engines)
    return names, testbed.ports, testbed.trunks, deployment.trunks(testbed)


def _is_intact(wanted: Wanted) -> bool:
    """Whether what lies next to the running processes is still the build, and their ports are still there."""
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


def _copied(build: Build, state: Path) -> Build:
    """The build, copied next to what runs: the cache may be emptied at any time."""
    folder = state.resolve() / "build"
    shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(build.folder.rglob("*")):
        if source.is_dir():
            continue
        target = folder / source.relative_to(build.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return replace(build, folder=folder)
