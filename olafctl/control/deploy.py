"""Deploy: go from what runs, or nothing, to a testbed's pipeline, verified; or back to what ran before."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.control import devices, members, shards
from olafctl.control.desired import desired_state
from olafctl.control.hosts import deployed as hosts
from olafctl.control.hosts import distant
from olafctl.control.hosts.network import all_hosts, placed_network, without_stack
from olafctl.control.locks import HOSTS, USE, hold_lock, lock_deployment
from olafctl.control.plan import ChangePlan, plan_changes
from olafctl.control.show import describe_unplugged
from olafctl.control.state import PipelineState
from olafctl.control.store import (
    Record,
    RecordRole,
    Store,
    adopt_testbed,
    claim_folder,
    clear_folder,
    folder_of,
    is_others,
)
from olafctl.control.wanted import (
    Wanted,
    check_startable,
    find_reusable,
    list_rewiring,
    place_target,
    prepare_testbed,
    rewire_ports,
    start_target,
    target_of,
)
from olafctl.machines import everywhere
from olafctl.machines.everywhere import Everywhere
from olafctl.membership.membership import rows_of
from olafctl.membership.merge import members_of
from olafctl.network import interfaces
from olafctl.targets import processes, registry, testbeds
from olafctl.targets.interface import Build, Progress, Running
from olafctl.testbed.ground import make_ground
from olafctl.testbed.machines import without_machines
from olafctl.testbed.model import Testbed
from olafctl.verify.admission import check_objectives, find_situation
from olafswitch.errors import BadInput, OlafError, Problem

_NOTHING = PipelineState()


@dataclass(frozen=True)
class DeployOutcome:
    """The changes that a deploy made, or (dry) would make."""

    name: str
    started: bool
    """Whether processes and ports were started, because none that fit ran."""
    pushed: tuple[str, ...]
    """The devices that were given their pipeline."""
    changes: ChangePlan
    programming: float
    """The seconds in which the state was read, written and read back."""
    ports: tuple[str, ...] = ()
    """The front ports that came or went while the engine went on, as lines of a diff."""
    going_on: tuple[str, ...] = ()
    """With ``dry``, the machines whose engines go on while others start."""
    hosts: tuple[str, ...] = ()
    """The changes of the hosts' namespaces, as lines of a diff."""
    forgotten: tuple[str, ...] = ()
    """With ``force``, the forgotten members that had joined at run time, as CLUSTER/NAME."""
    renamed: tuple[str, ...] = ()
    """The clusters and workers whose names came or went, as lines of a diff: no device knows a name."""
    unplugged: tuple[str, ...] = ()
    """The front ports without a carrier, a line each."""

    @property
    def changed(self) -> bool:
        """Whether anything was changed at all."""
        pipeline = self.started or self.pushed or self.changes.size or self.ports
        return bool(pipeline or self.hosts or self.renamed)


def deploy_testbed(
    testbed: Testbed,
    progress: Progress,
    *,
    dry_run: bool = False,
    take_over: bool = False,
    with_hosts: bool | None = None,
    force: bool = False,
    as_given: bool = False,
    away: Collection[str] = (),
) -> DeployOutcome:
    """Make ``testbed`` run. When it already does, nothing is touched.

    Changes at run time, such as members that joined, stay; with ``force`` all is as ``testbed`` says. With
    ``as_given`` its clusters come from another store, and this deployment's own store is left alone. With
    ``take_over`` another P4Runtime controller that is primary is displaced. ``with_hosts`` gives hosts their
    own namespaces, or removes these; None leaves them as they are. Machines that are ``away`` are left out,
    with all that is behind their engines; the next deploy brings them.

    Raises OlafError after going back to what ran before, or to nothing when nothing did.
    """
    store = Store(folder_of(testbed.name))
    claim_folder(store.folder)
    known = any(map(store.record, RecordRole)) and not is_others(store)
    first = bool(testbed.machines) and not known and not dry_run
    if first:
        _check_ours(testbed, take_over)
    before_hosts = hosts.are_wanted(store.folder)
    chosen = before_hosts if with_hosts is None else with_hosts
    if chosen:
        _check_hosts(without_machines(testbed, away))
    if store.record(RecordRole.RUNNING) is None:  # this comes before minutes of compiling
        check_startable(target_of(testbed, away), testbed, store.folder)
    wanted = prepare_testbed(testbed, store.folder, progress, chosen, away)
    if isinstance(wanted.target, Everywhere):
        wanted.target.is_first = first and not take_over
    as_given = as_given or force
    if dry_run:
        foreseen = _foresee_deploy(wanted if as_given else _with_members(wanted, store), store)
        forgotten = members.list_forgotten(testbed, store) if force else ()
        return replace(foreseen, forgotten=forgotten, renamed=_list_renamed(_testbed_before(store), testbed))
    with lock_deployment(store.folder):
        forgotten = members.list_forgotten(testbed, store) if force else ()
        before = _testbed_before(store)
        if not as_given:
            wanted = _with_members(wanted, store)
        running = find_reusable(wanted, store)
        if running is None or list_rewiring(wanted, running):
            check_startable(wanted.target, testbed, store.folder)
        _remember_wanted(wanted, store)
        try:
            outcome = _bring_up(wanted, running, store, progress, take_over)
            with nullcontext() if as_given and not force else members.keep_membership(wanted.testbed, store):
                store.confirm()
        except OlafError as error:
            shown = _with_last_words(error, wanted.testbed, store.folder)
            _roll_back(before, wanted, store, progress, shown, take_over, before_hosts)
            raise (_without_hints_into(store.folder, shown) if before is None else shown) from error
        except BaseException as error:
            _roll_back(before, wanted, store, progress, error, take_over, before_hosts)
            raise
        return replace(outcome, forgotten=forgotten, renamed=_list_renamed(before, wanted.testbed))


def _list_renamed(before: Testbed | None, after: Testbed) -> tuple[str, ...]:
    """List the names that come and go, as lines of a diff."""
    if before is None:
        return ()
    lines = []
    for what, old, new in (
        ("cluster", before.clusters, after.clusters),
        ("worker", before.workers, after.workers),
    ):
        names = [{each.name for each in some} for some in (old, new)]
        lines += [f"- {what} {name}" for name in sorted(names[0] - names[1])]
        lines += [f"+ {what} {name}" for name in sorted(names[1] - names[0])]
    return tuple(lines)


def check_kept(store: Store, testbed: Testbed) -> DeployOutcome:
    """Return the outcome of a deploy where a daemon keeps this testbed running: no change.

    Raises BadInput when it keeps another testbed of the same name.
    """
    record = store.record(RecordRole.RUNNING)
    if record is not None and record.testbed != as_deployed(testbed).text:
        remedy = "end the daemon first; or destroy the deployment, which makes the daemon let it go"
        raise BadInput(Problem("a daemon keeps what was deployed from another text", testbed.name, remedy))
    if record is not None and record.target != testbed.target:
        remedy = f"give --target {record.target}; or end the daemon first"
        raise BadInput(Problem(f"a daemon keeps it on the target {record.target}", testbed.name, remedy))
    return DeployOutcome(testbed.name, False, (), plan_changes(_NOTHING, _NOTHING), 0)


def build_testbed(testbed: Testbed, progress: Progress) -> Build:
    """Render, check and compile ``testbed`` for its target; from the cache when nothing changed.

    Raises OlafError; MissingTool when a program that the target needs is not installed.
    """
    return prepare_testbed(testbed, folder_of(testbed.name), progress).build


def as_deployed(testbed: Testbed) -> Testbed:
    """Return ``testbed``, which was read from a file, for the target that its deployment runs on."""
    record = Store(folder_of(testbed.name)).record(RecordRole.RUNNING)
    if record is None or record.testbed == testbed.text:
        return testbed
    same = testbeds.load_testbed(testbed.source, testbed.text, target=record.target)
    return same if record.testbed == same.text else testbed


def _check_ours(testbed: Testbed, take_over: bool) -> None:
    """Raise BadInput for a testbed that was deployed from elsewhere, unless it is taken over: going back
    would end it."""
    running = everywhere.find_alive(testbed)
    if not running:
        Store(folder_of(testbed.name)).discard()  # the record is a note of what ran
    elif take_over:
        adopt_testbed(testbed)
    else:
        what = f"runs on {', '.join(running)} already, deployed from elsewhere"
        remedy = "change it there, or take it over: olafctl deploy --take-over"
        raise BadInput(Problem(what, testbed.name, remedy))


def current_testbed(store: Store) -> Testbed:
    """Return a deployment's testbed with its present membership. Raises OlafError when one cannot be read."""
    return members.current_members(recorded_testbed(store), store)


def recorded_testbed(store: Store) -> Testbed:
    """Return a deployment's testbed as it was deployed. Raises OlafError when none can be read."""
    record = store.record(RecordRole.RUNNING) or store.record(RecordRole.WANTED)
    if record is None:
        raise OlafError(Problem("nothing was ever deployed", store.folder.name, "olafctl deploy TESTBED"))
    return testbeds.load_testbed(record.source, record.testbed)


def find_deployment(store: Store) -> tuple[Testbed, Running | None]:
    """Return a deployment's testbed with its present membership, and its running target.

    Raises OlafError when the stored testbed or the membership cannot be read.
    """
    testbed = current_testbed(store)
    return testbed, find_processes(testbed, store)


def find_processes(testbed: Testbed, store: Store) -> Running | None:
    """Return a deployment's running target, if it answers."""
    return place_target(testbed).find(testbed, store.folder)


def find_running(store: Store) -> tuple[Testbed, Running]:
    """Return :func:`find_deployment` of a deployment that runs. Raises OlafError when it does not."""
    if stopped := processes.list_stopped(store.folder):
        raise OlafError(*(Problem(f"is stopped: {process}", store.folder.name) for process in stopped))
    testbed, running = find_deployment(store)
    if running is None or not running.alive():
        raise OlafError(Problem("is not running", store.folder.name, "olafctl deploy TESTBED"))
    return testbed, running


@contextmanager
def use_deployment(store: Store) -> Iterator[tuple[Testbed, Running]]:
    """Yield a running deployment, protected from every other use and from every deploy meanwhile.

    Raises OlafError when it does not run or another command uses it.
    """
    with hold_lock(store.folder, USE), act_as_hosts(store) as found:
        yield found


@contextmanager
def act_as_hosts(store: Store) -> Iterator[tuple[Testbed, Running]]:
    """Yield a running deployment for a use as its hosts: protected from every other use, not from a deploy.

    Raises OlafError when it does not run or another command uses it.
    """
    with hold_lock(store.folder, HOSTS):
        yield find_running(store)


def stop_deployment(store: Store) -> None:
    """End all processes of a deployment, whichever target started them, here and on its machines. Raises
    OlafError."""
    for testbed in readable_testbeds(store):
        everywhere.stop_everywhere(testbed)
    for name in registry.target_names():
        registry.get_target(name).stop(store.folder)


def readable_testbeds(store: Store) -> Iterator[Testbed]:
    """Yield the testbeds that may run, as far as they can be read."""
    for role in RecordRole:
        with suppress(OlafError):
            if record := store.record(role):
                yield testbeds.load_testbed(record.source, record.testbed)


def _withdraw_elsewhere(wanted: Testbed, store: Store) -> None:
    """End the engines where ``wanted`` has none. Raises OlafError."""
    for testbed in readable_testbeds(store):
        everywhere.stop_everywhere(testbed, but=wanted.machines)
        if wanted.machines and not testbed.machines:
            registry.get_target(testbed.target).stop(store.folder)


def _with_members(wanted: Wanted, store: Store) -> Wanted:
    """Return ``wanted`` with the present members, after a check of their objectives. Raises OlafError."""
    testbed = members.wanted_members(wanted.testbed, store)
    requested = find_situation(testbed.clusters, make_ground(testbed))
    rows, record = members.stored_rows(store), store.record(RecordRole.RUNNING)
    same = record is not None and record.testbed == testbed.text
    if requested and not (same and rows is not None and members_of(rows) == rows_of(testbed.clusters)):
        check_objectives(requested, testbed)
    return replace(wanted, testbed=testbed)


def _testbed_before(store: Store) -> Testbed | None:
    """Return the testbed that runs, or ran, with its members; None when none ever ran."""
    if store.record(RecordRole.RUNNING) is None:
        return None
    testbed = recorded_testbed(store)
    try:
        return members.current_members(testbed, store)
    except OlafError:
        return testbed


def _make_record(wanted: Wanted) -> Record:
    return Record(wanted.testbed.text, wanted.testbed.source.resolve(), wanted.target.name, wanted.build.key)


def _remember_wanted(wanted: Wanted, store: Store) -> None:
    """Write down the wanted testbed completely, or nothing at all."""
    new = not store.exists()
    try:
        store.put(RecordRole.WANTED, _make_record(wanted))
    except BaseException:
        if new:
            store.discard()
        raise


def _foresee_deploy(wanted: Wanted, store: Store) -> DeployOutcome:
    """Return what :func:`deploy_testbed` would change, and touch nothing."""
    state = desired_state(wanted.reached)
    running = find_reusable(wanted, store)
    if running is None:
        check_startable(wanted.target, wanted.testbed, wanted.state)
        there = interfaces.hosts_of(wanted.state)
        made = tuple(
            f"+ host {host.name} {host.ip}"
            for host in all_hosts(wanted.testbed)
            if wanted.hosts and host.name not in there
        )
        if isinstance(wanted.target, Everywhere) and store.exists():
            return _foresee_machines(wanted, wanted.target, state)
        pushed = tuple(state.devices)
        return DeployOutcome(wanted.testbed.name, True, pushed, plan_changes(_NOTHING, state), 0, hosts=made)
    if ports := tuple(list_rewiring(wanted, running)):
        check_startable(wanted.target, wanted.testbed, wanted.state)
    changed = _foresee_hosts(wanted, running)
    with devices.watch_devices(running) as sessions:
        if devices.find_lacking(running, sessions):
            pushed = tuple(state.devices)
            return DeployOutcome(
                wanted.testbed.name, False, pushed, plan_changes(_NOTHING, state), 0, ports, hosts=changed
            )
        actual = devices.read_state(running, sessions, state)
    return DeployOutcome(wanted.testbed.name, False, (), plan_changes(actual, state), 0, ports, hosts=changed)


def _foresee_machines(wanted: Wanted, target: Everywhere, state: PipelineState) -> DeployOutcome:
    """Return what :func:`_foresee_deploy` returns, where some of the machines start their engines."""
    staying, ports = target.foresee(wanted.testbed, wanted.state)
    with devices.watch_devices(staying) as sessions:
        lacking = {device.name for device in devices.find_lacking(staying, sessions)}
        names = sessions.keys() - lacking
        actual = devices.read_state(staying, {name: sessions[name] for name in names}, state)
    return DeployOutcome(
        wanted.testbed.name,
        True,
        tuple(name for name in state.devices if name not in names),
        plan_changes(actual, state),
        0,
        tuple(f"{line[0]} {machine}: {line[2:]}" for machine, lines in ports.items() for line in lines),
        tuple(ports),
    )


def _foresee_hosts(wanted: Wanted, running: Running) -> tuple[str, ...]:
    if wanted.testbed.machines:
        return distant.bring_hosts(wanted.reached, wanted.hosts, lambda _: None, dry=True)
    if not wanted.hosts:
        return tuple(f"- host {name}" for name in interfaces.hosts_of(wanted.state))
    there = placed_network(wanted.testbed, running.attachments)
    return tuple(hosts.plan_changes(wanted.state, there).lines())


def _bring_up(
    wanted: Wanted, running: Running | None, store: Store, progress: Progress, take_over: bool
) -> DeployOutcome:
    """Start what does not run, program it and read it back."""
    started, ports = running is None, tuple[str, ...]()
    if running is None:
        progress(f"starting {wanted.testbed.name} on {wanted.target.name}")
        _withdraw_elsewhere(wanted.testbed, store)
        running = start_target(wanted, progress)
    else:
        ports = rewire_ports(wanted, running, progress)
    with devices.control_devices(running, take_over=take_over) as sessions:
        pushed = devices.push_pipelines(running, sessions)
        progress("programming tables and groups")
        state = desired_state(wanted.reached)
        begin = time.monotonic()
        changes, rest = devices.approach_state(running, sessions, state)
        took = time.monotonic() - begin
        changed = _bring_hosts(wanted, running, progress)
        if rest.size:
            progress("closing the ports that hosts have left")
        if changes.size:
            begin = time.monotonic()
            devices.arrive_at_state(running, sessions, state, rest)
            took += time.monotonic() - begin
        shards.balance_shards(running, wanted.testbed, wanted.testbed.clusters)
    unplugged = tuple(describe_unplugged(wanted.testbed.ports, running.stats().get("carriers", {})))
    return DeployOutcome(
        wanted.testbed.name, started, pushed, changes, took, ports, hosts=changed, unplugged=unplugged
    )


def _bring_hosts(wanted: Wanted, running: Running, progress: Progress) -> tuple[str, ...]:
    """Give the hosts their namespaces, or remove these."""
    if wanted.hosts:
        progress("making the hosts")
    if wanted.testbed.machines:
        changed = distant.bring_hosts(wanted.reached, wanted.hosts, progress)
        (hosts.note_wanted if wanted.hosts else hosts.take_away)(wanted.state)
        return changed
    if not wanted.hosts:
        return tuple(hosts.take_away(wanted.state).lines())
    left_out = without_stack(wanted.testbed, running.attachments)
    if left_out:
        progress(f"no namespace for {', '.join(left_out)}: behind no veth or TAP of ours")
    return tuple(hosts.bring_hosts(wanted.state, placed_network(wanted.testbed, running.attachments)).lines())


def _check_hosts(testbed: Testbed) -> None:
    """Raise BadInput where there can be no hosts."""
    if testbed.machines:
        distant.check_hosts(testbed)
    elif reason := interfaces.why_not():
        where = f"{testbed.source}: hosts"
        raise BadInput(Problem(reason, where, "run as root, or deploy with --no-hosts"))


def _with_last_words(error: OlafError, testbed: Testbed, folder: Path) -> OlafError:
    """Return ``error`` with the last lines of dead processes' logs, which going back removes."""
    words = dict(processes.words_of_dead(folder))
    for machine, part in everywhere.read_conditions(testbed).items():
        words |= {f"{machine}/{log}": end for log, end in part.get("last_words", {}).items()}
    more = [Problem(end, log) for log, end in words.items() if end not in str(error)]
    return _replace_problems(error, [*error.problems, *more]) if more else error


def _without_hints_into(folder: Path, error: OlafError) -> OlafError:
    """Return ``error`` without remedies that name files in ``folder``, which is gone."""
    problems = [
        replace(problem, remedy="") if str(folder) in problem.remedy else problem
        for problem in error.problems
    ]
    return _replace_problems(error, problems)


def _replace_problems(error: OlafError, problems: Sequence[Problem]) -> OlafError:
    shown = OlafError(*problems)
    shown.exit_code = error.exit_code
    return shown


def _roll_back(
    before: Testbed | None,
    wanted: Wanted,
    store: Store,
    progress: Progress,
    error: BaseException,
    take_over: bool,
    with_hosts: bool,
) -> None:
    """Make the testbed of ``before`` run again; end everything if it is None."""
    if before is None:
        progress("going back: nothing ran before")
        if isinstance(wanted.target, Everywhere):
            wanted.target.undo_start()  # the shares that others started there belong to them
        else:
            stop_deployment(store)
        clear_folder(store.folder)
        return
    progress("going back to what ran before")
    away = everywhere.find_unreachable(before)
    try:
        old = prepare_testbed(before, store.folder, progress, with_hosts, away)
        _bring_up(old, find_reusable(old, store), store, progress, take_over)
    except OlafError as second:
        problems = [*(error.problems if isinstance(error, OlafError) else ()), *second.problems]
        remedy = "olafctl status shows what is left; olafctl destroy ends it"
        raise OlafError(*dict.fromkeys(problems), Problem("could not go back", remedy=remedy)) from error
    store.forget(RecordRole.WANTED)
    if away and isinstance(error, OlafError):
        rest = Problem(f"{', '.join(away)} could not go back", before.name, "deploy again once it is back")
        raise OlafError(*error.problems, rest) from error
