"""The devices of a running target over P4Runtime: read their state, carry out a plan, read it back."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from typing import Protocol, TypeVar

from olafctl.control import handover, places
from olafctl.control.pipeline import VNP4_1, block_of
from olafctl.control.plan import ChangePlan, Op, plan_changes
from olafctl.control.state import DeviceState, PipelineState, QueueState, device_state
from olafctl.targets.interface import Registers, TargetDevice
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.failures import NotPrimary, WriteFailed
from olafswitch.p4runtime.session import Change, EntityUpdate, Session

Sessions = Mapping[str, Session]


class Programmable(Protocol):
    """The part of a running target that is programmed."""

    @property
    def devices(self) -> Sequence[TargetDevice]: ...

    @property
    def queues(self) -> Mapping[str, Registers]: ...


_CHANGES = {Op.INSERT: Change.INSERT, Op.MODIFY: Change.MODIFY, Op.DELETE: Change.DELETE}
_SHOWN = 10
_AT_ONCE = 32
_T = TypeVar("_T")
_R = TypeVar("_R")


@contextmanager
def control_devices(
    running: Programmable,
    *,
    take_over: bool = False,
    election_id: int | None = None,
    permit: Callable[[], None] | None = None,
) -> Iterator[Sessions]:
    """Yield sessions with every device, each primary; ``permit`` is called before each write.

    The election id is the time unless given, so a newer olafctl wins over an older one; it is above any
    earlier one when no controller is primary. Raises OlafError when a device does not answer, or (without
    ``take_over``) another controller with a higher election id is primary.
    """
    election = time.time_ns() if election_id is None else election_id

    def lead(session: Session) -> None:
        session.permit = permit
        try:
            session.become_primary(take_over=take_over)
        except NotPrimary as error:
            remedy = "end that controller, or `olafctl deploy TESTBED --take-over`"
            raise OlafError(*(replace(problem, remedy=remedy) for problem in error.problems)) from None

    def elect(registers: Registers) -> None:
        registers.elect(highest)
        # A later writer is no controller, so that a later controller does not stop it.
        stack.callback(registers.elect, None)
        if permit is not None:
            registers.permit = permit

    with ExitStack() as stack:
        sessions = stack.enter_context(_connect_devices(running, election))
        at_once(lead, sessions.values())
        highest = max(session.election_id for session in sessions.values())
        at_once(elect, running.queues.values())
        yield sessions


@contextmanager
def watch_devices(running: Programmable) -> Iterator[Sessions]:
    """Yield sessions that only read. Raises OlafError when a device does not answer."""
    with _connect_devices(running, None) as sessions:
        yield sessions


@contextmanager
def _connect_devices(running: Programmable, election: int | None) -> Iterator[Sessions]:
    with ExitStack() as stack:
        opened: list[Session] = []
        stack.callback(at_once, Session.close, opened)

        def connect(device: TargetDevice) -> Session:
            session = Session.connect(
                device.address, device.device_id, election_id=election, name=device.name, access=device.access
            )
            opened.append(session)
            return session

        names = [device.name for device in running.devices]
        yield dict(zip(names, at_once(connect, running.devices), strict=True))


def at_once(act: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """Return the result of ``act`` for each of ``items``, run at the same time. Raises the first failure once
    all have ended."""
    with ThreadPoolExecutor(_AT_ONCE, "devices") as pool:
        return list(pool.map(act, items))


def push_pipelines(running: Programmable, sessions: Sessions) -> tuple[str, ...]:
    """Give each device its pipeline, unless it runs it already; return the names of the devices that got one.

    Raises OlafError.
    """

    def push(device: TargetDevice) -> str:
        sessions[device.name].push(device.p4info, device.config, cookie=_pipeline_cookie(device))
        return device.name

    return tuple(at_once(push, find_lacking(running, sessions)))


def find_lacking(running: Programmable, sessions: Sessions) -> Sequence[TargetDevice]:
    """Return the devices that do not run their pipeline. Raises OlafError."""
    there = at_once(lambda device: has_pipeline(device, sessions), running.devices)
    return [device for device, has in zip(running.devices, there, strict=True) if not has]


def has_pipeline(device: TargetDevice, sessions: Sessions) -> bool:
    """Return whether ``device`` runs its pipeline; comparing needs the pipeline's files.

    Raises OlafError.
    """
    try:
        cookie = _pipeline_cookie(device)
    except OSError:
        return False
    return sessions[device.name].cookie() == cookie


def read_state(running: Programmable, sessions: Sessions, wanted: PipelineState) -> PipelineState:
    """Return the state of every device, and of each queue's indices and the registers that ``wanted`` names.

    Raises OlafError.
    """

    def of_device(session: Session) -> DeviceState:
        return device_state([*session.entries(), *session.multicast_groups()])

    def of_queue(engine: str) -> QueueState:
        names, registers = wanted.queues.get(engine, QueueState()).registers, running.queues[engine]
        return QueueState({name: registers.read(name) for name in names}, registers.settings())

    return PipelineState(
        dict(zip(sessions, at_once(of_device, sessions.values()), strict=True)),
        dict(zip(running.queues, at_once(of_queue, running.queues), strict=True)),
    )


def converge_state(running: Programmable, sessions: Sessions, wanted: PipelineState) -> ChangePlan:
    """Make the actual state equal ``wanted`` and read it back; return the changes.

    Raises OlafError as :func:`approach_state` and :func:`arrive_at_state`.
    """
    changes, rest = approach_state(running, sessions, wanted)
    if changes.size:
        arrive_at_state(running, sessions, wanted, rest)
    return changes


def approach_state(
    running: Programmable, sessions: Sessions, wanted: PipelineState
) -> tuple[ChangePlan, ChangePlan]:
    """Go from the actual state to ``wanted``, but leave the old places of hosts that move open.

    Indices that go to another job are cleared of the old one. Where a table cannot hold old and new entries
    at once, the old ones are removed first. Returns all necessary changes, and those that are left for
    :func:`arrive_at_state`. Raises OlafError when a write is refused.
    """
    actual = read_state(running, sessions, wanted)
    changes = plan_changes(actual, wanted)
    if not changes.size:
        return changes, changes
    between = places.believe_both(actual, wanted)
    todo = plan_changes(actual, between)
    if _clear_indices(actual, wanted, running, sessions):
        todo = plan_changes(read_state(running, sessions, wanted), between)
    try:
        carry_out(todo, running, sessions)
    except WriteFailed as error:
        if any(failure.code != "RESOURCE_EXHAUSTED" for failure in error.failures):
            raise
        # Old and new entries together do not fit: remove the old ones first.
        carry_out(plan_changes(read_state(running, sessions, wanted), between).removals, running, sessions)
        carry_out(plan_changes(read_state(running, sessions, wanted), between), running, sessions)
    return changes, plan_changes(between, wanted)


def arrive_at_state(
    running: Programmable, sessions: Sessions, wanted: PipelineState, rest: ChangePlan
) -> None:
    """Carry out what :func:`approach_state` left and read everything back.

    Raises OlafError when a write is refused or the state differs.
    """
    carry_out(rest, running, sessions)
    verify_state(running, sessions, wanted)


def _clear_indices(
    actual: PipelineState, wanted: PipelineState, running: Programmable, sessions: Sessions
) -> bool:
    """Clear the indices that ``wanted`` gives to other jobs; return whether tables were changed for this."""
    renewed = handover.find_renewed(actual, wanted)
    refusal = handover.plan_refusal(actual, renewed)
    carry_out(refusal, running, sessions)
    firsts = [name for name in wanted.devices if block_of(name) == VNP4_1]
    queues = [*zip(firsts, running.queues.values(), strict=True)]
    for name, registers in reversed(queues):  # from below: the next queue has to clear what one sends
        if name in renewed:
            handover.clear_ranges(registers, renewed[name], f"queue of {name}")
    return refusal.size > 0


def carry_out(changes: ChangePlan, running: Programmable, sessions: Sessions) -> None:
    """Carry out every step in order, one Write after the other. Raises OlafError at the first refusal.

    Indices come first: no frame may find an index whose settings are not its cluster's. An engine's indices
    come before its parent's, which must not wait for more updates of a round than are sent up to it.
    """
    for engine, queue in reversed([*changes.queues.items()]):
        for part in queue.settings:
            running.queues[engine].configure(part.first, part.last, part.after)
    for step in changes.steps:
        sessions[step.device].write(
            EntityUpdate(_CHANGES[change.op], change.entity) for change in step.changes
        )
    for engine, queue in changes.queues.items():
        for register in queue.registers:
            running.queues[engine].write(register.name, register.after)


def verify_state(running: Programmable, sessions: Sessions, wanted: PipelineState) -> None:
    """Read everything back and compare it.

    Raises OlafError with the differences.
    """
    left = plan_changes(read_state(running, sessions, wanted), wanted)
    if left.size:
        shown = [Problem(line, "read back differs") for line in islice(left.lines(), _SHOWN)]
        if left.size > _SHOWN:
            shown.append(Problem(f"and {left.size - _SHOWN} more", "read back differs"))
        raise OlafError(*shown)


def _pipeline_cookie(device: TargetDevice) -> int:
    content = device.p4info.read_bytes() + device.config.read_bytes()
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") or 1
