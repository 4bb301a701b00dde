"""The golden queue: it receives the times of events, and states what must have happened.

The rules are Algorithm 1 of OLAF with the reward rule of OLAF §3 and the head lock of OLAF §12.1, iSwitch's
rounds, and the staleness rule in front of either. What they
decide depends on what still waits, hence on when updates begin to leave, which is the output's affair. So the
model receives the queue's *instants* in order (an update's disposition was decided; it is settled, for it
has arrived to its end; the update next in line began to leave; it left its slot; a frame's status was
taken; a command reached the next index of its range) and predicts all else: what becomes of each update,
every byte and sidecar field of every frame that leaves, the status in each, and every counter. An instant
that cannot be (a decision with no frame, a departure from an empty queue, against ``hold`` or faster than
``rate``) raises :class:`Unexplained`.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from olafctl.queue.registers import BY_NAME, Access, Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameKind, StatusFlag
from olafctl.wire.modes import Mode
from olaftest.queue.golden import iswitch, iswitch_async, opportunistic, staleness
from olaftest.queue.golden.frames import GoldenUpdate, header_field
from olaftest.queue.golden.reward import Reward
from olaftest.queue.golden.settings import CommandStep, IndexState, command_steps
from olaftest.queue.golden.waiting import WaitingUpdate, newer_or_same
from olaftest.queue.model import Instant, Sidecar

UNPREDICTED = ("cycle", "input_stalls")
"""Counters that measure time, not what became of frames."""
IN_PLACE = ("merged", "replaced_worker", "replaced_reward")
"""Dispositions of an update that ends up where one waits already."""


class Unexplained(AssertionError):
    """The queue did something that no rule allows."""


@dataclass
class Arriving:
    """An update whose disposition is decided and which has not arrived to its end."""

    update: GoldenUpdate
    reward: Reward
    disposition: str
    slot: WaitingUpdate | None
    """Where it will be, once settled: its own place in line, or the waiting update's."""
    after_locked: bool
    index: IndexState
    """Index of its tables; any other one when it is faulty."""


class GoldenQueue:
    """The model of one queue from its reset on. Settings may change only while nothing is arriving."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.accumulate_quota = max(1, geometry.slots // 2)
        self.rate = 0
        self.hold = 0
        self.stale_shifts_low = self.stale_shifts_high = 0
        self.window: int = BY_NAME["active_window"].reset or 0
        self.counters = {
            name: 0
            for name, register in BY_NAME.items()
            if register.access is Access.COUNTER and name not in UNPREDICTED
        }
        self.cases: dict[str, int] = {}
        """How often each case that is no counter of its own was met."""
        self._offered: deque[GoldenUpdate] = deque()
        self._arriving: Arriving | None = None
        self._line: list[WaitingUpdate] = []
        self._leaving: WaitingUpdate | None = None
        self._begun: deque[WaitingUpdate] = deque()
        self._seen: dict[int, int] = {}
        self._indices: dict[int, IndexState] = {}
        self._steps: deque[CommandStep] = deque()
        self.got: IndexState | None = None
        """What the last GET found."""
        self._owed = 0
        self._owed_at = 0
        self.statuses: deque[tuple[int, int]] = deque()
        """(occupancy, active clusters) of the frames to leave, in order."""

    # What the outside does.

    def offer(self, sidecar: Sidecar, frame: bytes, keeps: Sequence[int] | None = None) -> None:
        """Send an update to the queue."""
        self._offered.append(GoldenUpdate.read(sidecar, frame, keeps, self.geometry))

    def acknowledge(self, sidecar: Sidecar, header: bytes) -> None:
        """Pass an ACK, whose first 64 bytes are ``header``."""
        if sidecar.index < self.geometry.indices:
            newest = self.index(sidecar.index).newest
            before = newest.version
            newest.acknowledged(header_field(header, "weights_version"))
            older = before is not None and not newer_or_same(newest.version or 0, before, 16)
            self.note_case("an older version was believed" if older else "an ACK taught")

    def limit_rate(self, rate: int, cycle: int) -> None:
        """Write the ``rate`` register; nothing may be owed by an earlier rate."""
        self.rate, self._owed, self._owed_at = rate, 0, cycle

    def command(self, command: Command, first: int, last: int, settings: IndexSettings) -> None:
        """Write a command of a good range; the one before it has ended."""
        _require_true(not self._steps, "a command ended before it reached its last index")
        self._steps.extend(command_steps(command, first, last, settings))

    def at(self, instant: Instant) -> None:
        """Follow an instant that the queue reports. Raises Unexplained when it cannot be."""
        occupancy = self.occupancy
        leaver = self._leaving
        if instant.status:
            self.statuses.append((occupancy, self._count_active(instant.cycle)))
        if instant.left:
            self._leave_queue()
        if instant.begun:
            self._begin_departure(instant.cycle)
        if instant.commanded:
            _require_true(bool(self._steps), "a command went on beyond its last index")
            self._apply_command(self._steps.popleft())
        if instant.decided:
            self._decide_update(occupancy, leaver)
        if instant.settled:
            self._settle_update(instant.cycle)

    def next_update(self) -> tuple[Sidecar, bytes]:
        """Return the sidecar (but for its status) and the bytes of the next update to leave completely."""
        _require_true(bool(self._begun), "an update left that never began to")
        update = self._begun.popleft()
        _require_true(update is not self._leaving, "an update left before its last beat was read")
        self.counters["out_updates"] += 1
        return update.sidecar, update.frame

    def status(self) -> tuple[int, int, int, int]:
        """Return occupancy, active clusters, slots and status flags that the next frame out must carry."""
        _require_true(bool(self.statuses), "a frame left whose status was never taken")
        occupancy, active = self.statuses.popleft()
        slots = self.geometry.slots
        flags = (StatusFlag.FULL if occupancy == slots else 0) | (
            StatusFlag.CONGESTED if active > slots else 0
        )
        return occupancy, active, slots, int(flags)

    @property
    def undecided(self) -> int:
        """Updates offered that have not arrived."""
        return len(self._offered) + (self._arriving is not None)

    @property
    def unsent(self) -> int:
        """Updates that are to leave and have not."""
        return len(self._line) + len(self._begun)

    @property
    def occupancy(self) -> int:
        """Slots taken, by updates that wait or leave or accumulate."""
        return len(self._line) + self.accumulating

    @property
    def accumulating(self) -> int:
        """Slots taken by partial sums."""
        return sum(index.rounds.partial is not None for index in self._indices.values())

    def index(self, number: int) -> IndexState:
        """Return the settings and the rounds of an index."""
        return self._indices.setdefault(number, IndexState())

    # What follows.

    def _count_active(self, cycle: int) -> int:
        """Count the indices that are active at ``cycle``: a round robin look finds each one's window over."""
        indices = self.geometry.indices

        def ends(index: int, sent: int) -> int:
            over = sent + self.window + 1
            return over + (index - over) % indices

        return sum(sent < cycle <= ends(index, sent) for index, sent in self._seen.items())

    def _leave_queue(self) -> None:
        _require_true(
            self._leaving is not None and self._line[:1] == [self._leaving], "a slot was freed twice"
        )
        del self._line[0]
        self._leaving = None

    def _begin_departure(self, cycle: int) -> None:
        _require_true(self._leaving is None, "an update began to leave before the one ahead had left")
        _require_true(not self.hold, "an update began to leave against hold")
        arriving = self._arriving
        if self._line:
            head = self._line[0]
        else:
            _require_true(
                arriving is not None and arriving.disposition == "appended", "an empty queue began to send"
            )
            assert arriving is not None and arriving.slot is not None
            head = arriving.slot
        if arriving is not None and arriving.slot is head:
            self.counters["cut_through"] += 1
            self.note_case(f"cut through while {arriving.disposition}")
        head.begun = True
        self._leaving = head
        self._begun.append(head)
        self._pay_debt(cycle, head.sidecar.size)

    def _pay_debt(self, cycle: int, size: int) -> None:
        """Lower the debt by the rate for each cycle, to 0 or to what the last frame overpays."""
        if not self.rate:
            return
        paid = min(cycle - self._owed_at, -(-max(self._owed, 0) // self.rate))
        self._owed -= paid * self.rate
        _require_true(self._owed <= 0, "an update began to leave faster than the rate")
        self._owed = max(0, self._owed + (size * 8 << 16)) - self.rate
        self._owed_at = cycle + 1

    def _decide_update(self, occupancy: int, leaver: WaitingUpdate | None) -> None:
        _require_true(
            bool(self._offered) and self._arriving is None, "a disposition was decided for no update"
        )
        update = self._offered.popleft()
        if update.fault or update.headless:
            self._arriving = Arriving(update, Reward(0, 0), update.fault or "torn", None, False, IndexState())
            return
        index = self.index(update.sidecar.index)
        settings = index.settings
        reward = update.reward(settings.reward_threshold)
        full = occupancy == self.geometry.slots
        after_locked = False
        slot = None
        behind = 0
        if settings.stale_enable and not update.aggregated:
            behind = index.newest.behind(header_field(update.header, "weights_version"))
            shift = staleness.shift_of(behind, self.stale_shifts_high << 32 | self.stale_shifts_low)
            update = replace(
                update, gradients=staleness.scale_gradients(update.gradients, shift), weighed=True
            )
            self.note_case("scaled" if shift else "weighed, not scaled")
        if settings.halted:
            what = "dropped_halted"
        elif behind > settings.stale_bound:
            what = "dropped_stale"
        elif settings.mode.sums:
            quota_reached = self.accumulating >= self.accumulate_quota
            room = iswitch.Room(self.geometry.members, quota_reached, full)
            if isinstance(index.rounds, iswitch_async.NumberedSums):
                what = iswitch_async.sum_disposition(update, index.rounds, room)
                self.note_case(f"numbered, {iswitch_async.window_place(update, index.rounds)}")
            else:
                what = iswitch.round_disposition(update, index.rounds, room)
        elif settings.mode == Mode.FIFO:
            what = "dropped_full" if full else "appended"
        else:
            of_index = self._of_index(update.sidecar.index, leaver)
            slot = next((entry for entry in of_index if not entry.begun), None)
            what = opportunistic.update_disposition(update, reward, slot, full, bool(settings.reward_enable))
            after_locked = what == "appended" and any(entry.begun for entry in of_index)
        if what == "appended":
            slot = WaitingUpdate.alone(update, reward, settings.mode == Mode.OLAF)
        elif what not in IN_PLACE:
            slot = None
        self._arriving = Arriving(update, reward, what, slot, after_locked, index)

    def _of_index(self, number: int, leaver: WaitingUpdate | None) -> list[WaitingUpdate]:
        """List the updates of an index that its table knows of, in line; also one that leaves at this
        instant."""
        leaving = [leaver] if leaver is not None and leaver not in self._line else []
        return [entry for entry in leaving + self._line if entry.tracked and entry.sidecar.index == number]

    def _settle_update(self, cycle: int) -> None:
        arriving = self._arriving
        _require_true(arriving is not None, "an update was settled that never arrived")
        assert arriving is not None
        self._arriving = None
        self.counters["in_updates"] += 1
        update, what, slot = arriving.update, arriving.disposition, arriving.slot
        if update.fault is None and update.ending != "good":
            if slot is None or not slot.begun:
                self.counters[f"dropped_{update.ending}"] += 1
                return
            self.counters["repaired"] += 1
            self.note_case(f"repaired {update.ending} while {what}")
        self.counters[what] += 1
        if update.fault is None:
            self._seen[update.sidecar.index] = cycle
        if update.fault is None and what != "dropped_halted":
            arriving.index.newest.judged(what == "dropped_stale")
            if what == "dropped_stale" and arriving.index.newest.version is None:
                self.note_case("forgotten after stale updates")
        if arriving.index.settings.mode.sums:
            self._add_contribution(arriving)
        elif what == "appended":
            assert slot is not None
            self._line.append(slot)
            self.counters["locked_appends"] += arriving.after_locked
        elif what == "merged":
            assert slot is not None
            newer, saturated = slot.merge(update, arriving.reward)
            self.note_case("merged, newer" if newer else "merged, older")
            self.counters["saturations"] += saturated
        elif slot is not None:
            slot.replace(update, arriving.reward)

    def _add_contribution(self, arriving: Arriving) -> None:
        """Add a contribution: it begins or joins its index' round, and may be the last one missing."""
        rounds, update = arriving.index.rounds, arriving.update
        if arriving.disposition in ("appended", "dropped_superseded"):
            sum_of_one = WaitingUpdate.alone(update, arriving.reward, tracked=False)
            sum_of_one.aggregate()
            rounds.start(update, sum_of_one)
        elif arriving.disposition == "merged":
            assert rounds.partial is not None
            newer, saturated = rounds.partial.merge(update, arriving.reward)
            rounds.add(update)
            self.note_case("contributed, newer" if newer else "contributed, older")
            self.counters["saturations"] += saturated
        else:
            return
        if rounds.complete(arriving.index.settings.threshold):
            self._release_sum(rounds, "released by the last contribution")

    def _release_sum(self, rounds: iswitch.Rounds, case: str) -> None:
        self.note_case(case)
        released = rounds.release()
        released.sidecar = replace(released.sidecar, kind=FrameKind.RESULT)
        self._line.append(released)

    def _apply_command(self, step: CommandStep) -> None:
        """Apply a command at one index of its range."""
        self.note_case(f"command {step.command.name}")
        index = self.index(step.index)
        rounds = index.rounds
        match step.command:
            case Command.SET:
                afresh = step.settings.mode != index.settings.mode
                index.set(step.settings)
                index.newest.forget()
                if rounds.partial is not None and afresh:
                    self.counters["dropped_reset"] += 1
                    self.note_case("discarded by SET")
                elif not afresh and not step.settings.halted and rounds.complete(step.settings.threshold):
                    self._release_sum(rounds, "released by SET")
            case Command.FBCAST:
                if rounds.partial is not None:
                    self.counters["forced"] += 1
                    self._release_sum(rounds, "released by FBCAST")
            case Command.RESET:
                if rounds.partial is not None:
                    self.counters["dropped_reset"] += 1
                    self.note_case("discarded by RESET")
                rounds.reset()
                index.newest.forget()
            case Command.GET:
                partial = rounds.partial and replace(rounds.partial)
                copied = replace(rounds, members=set(rounds.members), partial=partial)
                self.got = replace(index, rounds=copied, newest=replace(index.newest))

    def note_case(self, case: str) -> None:
        """Count a case."""
        self.cases[case] = self.cases.get(case, 0) + 1


def _require_true(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unexplained(otherwise)


def with_status(sidecar: Sidecar, status: tuple[int, int, int, int]) -> Sidecar:
    """Return ``sidecar`` as it leaves, with the queue's status written into it."""
    occupancy, active, slots, flags = status
    return replace(sidecar, occupancy=occupancy, active_clusters=active, slots=slots, status_flags=flags)
