"""Deploy: from whatever runs, or nothing, to a testbed's pipeline, verified; or back to what ran before."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path

from olafctl.control import devices, members
from olafctl.control.desired import desired
from olafctl.control.hosts import deployed as hosts
from olafctl.control.hosts.network import everyone, network, without_stack
from olafctl.control.locks import HOSTS, USE, held, locked
from olafctl.control.plan import Plan, plan
from olafctl.control.state import State
from olafctl.control.store import Record, Role, Store, claim, clear, folder_of, remedy_for
from olafctl.errors import BadInput, MissingTool, OlafError, Problem
from olafctl.membership.membership import rows_of
from olafctl.membership.merge import members_of
from olafctl.ports import interfaces
from olafctl.targets import deployment, front_ports, registry, rendered, testbeds
from olafctl.targets.front_ports import FrontPort
from olafctl.targets.interface import Build, Progress, Running, Target
from olafctl.testbed.ground import ground
from olafctl.testbed.model import Testbed
from olafctl.verify.admission import check, situation

_NOTHING = State()


@dataclass(frozen=True)
class Outcome:
    """What a deploy did, or (dry) would do."""

    name: str
    started: bool
    """Whether processes and ports were brought up, because nothing fitting ran."""
    pushed: tuple[str, ...]
    """Devices that were given their pipeline."""
    changes: Plan
    programming: float
    """Seconds in which the state was read, written and read back."""
    hosts: tuple[str, ...] = ()
    """What changed of the hosts' namespaces, as lines of a diff."""

    @property
    def changed(self) -> bool:
        """Whether anything was done at all."""
        return self.started or bool(self.pushed) or self.changes.size > 0 or bool(self.hosts)


@dataclass(frozen=True)
class _Wanted:
    """A testbed with everything needed to bring it up."""

    testbed: Testbed
    target: Target
    build: Build
    state: Path
    hosts: bool
    """Whether its hosts have namespaces of their own."""


def deploy(
    testbed: Testbed,
    progress: Progress,
    *,
    dry_run: bool = False,
    take_over: bool = False,
    with_hosts: bool | None = None,
    force: bool = False,
    as_given: bool = False,
) -> Outcome:
    """Make ``testbed`` run. When it already does, nothing is touched.

    Members that joined, and what else was changed at run time, stay; with ``force`` all is as ``testbed``
    says. With ``as_given`` its clusters come from another store, and this deployment's own is left alone.
    With ``take_over`` another P4Runtime controller that is primary is displaced. ``with_hosts`` gives hosts
    namespaces of their own, or takes them away; None leaves that as it is.

    Raises OlafError after going back to what ran before, or to nothing when nothing did.
    """
    store = Store(folder_of(testbed.name))
    claim(store.folder)
    before_hosts = hosts.wanted(store.folder)
    chosen = before_hosts if with_hosts is None else with_hosts
    if chosen:
        _check_hosts(testbed)
    if store.record(Role.RUNNING) is None:  # before minutes of compiling
        _check_startable(_target(testbed), testbed, store.folder)
    wanted = _prepare(testbed, store.folder, progress, chosen)
    as_given = as_given or force
    if dry_run:
        return _foresee(wanted if as_given else _with_members(wanted, store), store)
    with locked(store.folder):
        before = _before(store)
        if not as_given:
            wanted = _with_members(wanted, store)
        reusable = _reusable(wanted, store)
        if reusable is None:
            _check_startable(wanted.target, testbed, store.folder)
        _remember(wanted, store)
        try:
            outcome = _bring_up(wanted, reusable, store, progress, take_over)
            with nullcontext() if as_given and not force else members.keeping(wanted.testbed, store):
                store.confirm()
        except BaseException as error:
            _roll_back(before, store, progress, error, take_over, before_hosts)
            if before is None and isinstance(error, OlafError):
                raise _without_hints_into(store.folder, error) from error
            raise
        return outcome


def kept(store: Store, testbed: Testbed) -> Outcome:
    """What a deploy does where a daemon keeps this testbed running: nothing.

    Raises BadInput when it keeps another testbed of the same name.
    """
    record = store.record(Role.RUNNING)
    if record is not None and record.testbed != testbed.text:
        remedy = "end the daemon first; or destroy the deployment, which makes the daemon let it go"
        raise BadInput(Problem("a daemon keeps what was deployed from another text", testbed.name, remedy))
    return Outcome(testbed.name, False, (), plan(_NOTHING, _NOTHING), 0)


def build(testbed: Testbed, progress: Progress) -> Build:
    """Render, check and compile ``testbed`` for its target; from the cache when nothing changed.

    Raises OlafError; MissingTool when a program that the target needs is not installed.
    """
    return _prepare(testbed, folder_of(testbed.name), progress).build


def recorded(store: Store) -> Testbed:
    """A deployment's testbed as it was deployed. Raises OlafError when none can be read."""
    record = store.record(Role.RUNNING) or store.record(Role.WANTED)
    if record is None:
        raise OlafError(Problem("nothing was ever deployed", store.folder.name, "olafctl deploy TESTBED"))
    return testbeds.load(record.source, record.testbed)


def find(store: Store) -> tuple[Testbed, Running | None]:
    """A deployment's testbed with its membership as it is now, and what runs of it.

    Raises OlafError when the stored testbed or the membership cannot be read.
    """
    testbed = members.current(recorded(store), store)
    return testbed, registry.get(testbed.target).find(testbed, store.folder)


def find_running(store: Store) -> tuple[Testbed, Running]:
    """As :func:`find`, of a deployment that runs. Raises OlafError when it does not."""
    testbed, running = find(store)
    if running is None or not running.alive():
        raise OlafError(Problem("is not running", store.folder.name, "olafctl deploy TESTBED"))
    return testbed, running


@contextmanager
def using(store: Store) -> Iterator[tuple[Testbed, Running]]:
    """A deployment that runs, kept from every other use and from every deploy meanwhile.

    Raises OlafError when it does not run or another is at it.
    """
    with held(store.folder, USE), acting(store) as found:
        yield found


@contextmanager
def acting(store: Store) -> Iterator[tuple[Testbed, Running]]:
    """A deployment that runs, as its hosts use it: kept from every other use, not from being deployed again.

    Raises OlafError when it does not run or another is at it.
    """
    with held(store.folder, HOSTS):
        yield find_running(store)


def ports_lost(folder: Path) -> Sequence[FrontPort]:
    """The front ports that were taken away from what was started in ``folder``."""
    recorded = deployment.load(folder)
    return front_ports.lost(recorded.ports) if recorded else ()


def stop(store: Store) -> None:
    """End whatever runs in the store's folder, whichever target brought it up. Raises OlafError."""
    for name in registry.names():
        registry.get(name).stop(store.folder)


def _target(testbed: Testbed) -> Target:
    """Raises MissingTool when a program that it needs is not installed."""
    target = registry.get(testbed.target)
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


def _prepare(testbed: Testbed, state: Path, progress: Progress, with_hosts: bool = False) -> _Wanted:
    target = _target(testbed)
    progress("rendering and checking")
    rendered.check(testbed)
    return _Wanted(testbed, target, target.build(testbed, progress), state, with_hosts)


def _with_members(wanted: _Wanted, store: Store) -> _Wanted:
    """``wanted`` with the members that there are, whose objectives it keeps. Raises OlafError."""
    testbed = members.wanted(wanted.testbed, store)
    asked = situation(testbed.clusters, ground(testbed))
    rows, record = members.stored(store), store.record(Role.RUNNING)
    same = record is not None and record.testbed == testbed.text
    if asked and not (same and rows is not None and members_of(rows) == rows_of(testbed.clusters)):
        check(asked, testbed)
    return replace(wanted, testbed=testbed)


def _before(store: Store) -> Testbed | None:
    """What runs, or ran, with its members; None when nothing ever did."""
    if store.record(Role.RUNNING) is None:
        return None
    testbed = recorded(store)
    try:
        return members.current(testbed, store)
    except OlafError:
        return testbed


def _record(wanted: _Wanted) -> Record:
    return Record(wanted.testbed.text, wanted.testbed.source.resolve(), wanted.target.name, wanted.build.key)


def _remember(wanted: _Wanted, store: Store) -> None:
    """Write down what is wanted, or nothing at all."""
    new = not store.exists()
    try:
        store.put(Role.WANTED, _record(wanted))
    except BaseException:
        if new:
            store.discard()
        raise


def _reusable(wanted: _Wanted, store: Store) -> Running | None:
    """What runs, when it is this build on these ports; None when it must be started again."""
    records = [record for record in map(store.record, Role) if record is not None]
    if not records or not _is_intact(wanted):
        return None
    for record in records:
        try:
            recorded = testbeds.load(record.source, record.testbed)
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


def _wiring(testbed: Testbed) -> tuple[object, ...]:
    """What of a testbed is made when processes start: its engines, in their order, ports and links."""
    names = tuple(engine.name for engine in testbed.engines)
    return names, testbed.ports, testbed.trunks, deployment.trunks(testbed)


def _foresee(wanted: _Wanted, store: Store) -> Outcome:
    """What :func:`deploy` would do; touches nothing."""
    state = desired(wanted.testbed)
    running = _reusable(wanted, store)
    if running is None:
        _check_startable(wanted.target, wanted.testbed, wanted.state)
        there = interfaces.hosts_of(wanted.state)
        made = tuple(
            f"+ host {host.name} {host.ip}"
            for host in everyone(wanted.testbed)
            if wanted.hosts and host.name not in there
        )
        return Outcome(wanted.testbed.name, True, tuple(state.devices), plan(_NOTHING, state), 0, made)
    changed = _foresee_hosts(wanted, running)
    with devices.watching(running) as sessions:
        if not all(devices.has_pipeline(device, sessions) for device in running.devices):
            pushed = tuple(state.devices)
            return Outcome(wanted.testbed.name, False, pushed, plan(_NOTHING, state), 0, changed)
        actual = devices.read(running, sessions, state)
    return Outcome(wanted.testbed.name, False, (), plan(actual, state), 0, changed)


def _foresee_hosts(wanted: _Wanted, running: Running) -> tuple[str, ...]:
    if not wanted.hosts:
        return tuple(f"- host {name}" for name in interfaces.hosts_of(wanted.state))
    there = network(wanted.testbed, running.attachments)
    return tuple(hosts.changes(wanted.state, there).lines())


def _bring_up(
    wanted: _Wanted, running: Running | None, store: Store, progress: Progress, take_over: bool
) -> Outcome:
    """Start what does not run, program it and read it back."""
    started = running is None
    if running is None:
        progress(f"starting {wanted.testbed.name} on {wanted.target.name}")
        running = _start(wanted, progress)
    with devices.controlling(running, take_over=take_over) as sessions:
        pushed = devices.push_pipelines(running, sessions)
        progress("programming tables and groups")
        state = desired(wanted.testbed)
        begin = time.monotonic()
        changes, rest = devices.approach(running, sessions, state)
        took = time.monotonic() - begin
        changed = _bring_hosts(wanted, running, progress)
        if rest.size:
            progress("closing the ports that hosts have left")
        if changes.size:
            begin = time.monotonic()
            devices.arrive(running, sessions, state, rest)
            took += time.monotonic() - begin
    return Outcome(wanted.testbed.name, started, pushed, changes, took, changed)


def _bring_hosts(wanted: _Wanted, running: Running, progress: Progress) -> tuple[str, ...]:
    """Give the hosts their namespaces, or take them away."""
    if not wanted.hosts:
        return tuple(hosts.take_away(wanted.state).lines())
    progress("making the hosts")
    left_out = without_stack(wanted.testbed, running.attachments)
    if left_out:
        progress(f"no namespace for {', '.join(left_out)}: behind no veth or TAP of ours")
    return tuple(hosts.bring(wanted.state, network(wanted.testbed, running.attachments)).lines())


def _check_hosts(testbed: Testbed) -> None:
    """Raises BadInput where there can be no hosts."""
    if reason := interfaces.why_not():
        where = f"{testbed.source}: hosts"
        raise BadInput(Problem(reason, where, "run as root, or deploy with --no-hosts"))


def _check_startable(target: Target, testbed: Testbed, state: Path) -> None:
    """Raises BadInput for what cannot start here, while what runs still does."""
    if problems := target.problems(testbed, state):
        raise BadInput(*problems)


def _start(wanted: _Wanted, progress: Progress) -> Running:
    try:
        build = _kept(wanted.build, wanted.state)
        return wanted.target.start(wanted.testbed, build, wanted.state, progress)
    except OSError as error:
        what = f"cannot start: {error.strerror}"
        where = str(error.filename2 or error.filename or wanted.state)
        raise OlafError(Problem(what, where, remedy_for(error))) from error


def _kept(build: Build, state: Path) -> Build:
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


def _is_intact(wanted: _Wanted) -> bool:
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


def _without_hints_into(folder: Path, error: OlafError) -> OlafError:
    """``error`` without remedies that name what is in ``folder``, which is gone."""
    problems = [
        replace(problem, remedy="") if str(folder) in problem.remedy else problem
        for problem in error.problems
    ]
    told = OlafError(*problems)
    told.exit_code = error.exit_code
    return told


def _roll_back(
    before: Testbed | None,
    store: Store,
    progress: Progress,
    error: BaseException,
    take_over: bool,
    with_hosts: bool,
) -> None:
    """Make the testbed of ``before`` run again; end everything when there is none."""
    if before is None:
        progress("going back: nothing ran before")
        stop(store)
        clear(store.folder)
        return
    progress("going back to what ran before")
    try:
        old = _prepare(before, store.folder, progress, with_hosts)
        _bring_up(old, _reusable(old, store), store, progress, take_over)
    except OlafError as second:
        problems = [*(error.problems if isinstance(error, OlafError) else ()), *second.problems]
        remedy = "olafctl status shows what is left; olafctl destroy ends it"
        raise OlafError(*dict.fromkeys(problems), Problem("could not go back", remedy=remedy)) from error
    store.forget(Role.WANTED)
