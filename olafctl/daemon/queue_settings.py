"""How the queue treats each index, behind one interface: whatever registers the engine's build has."""

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from olafctl.errors import BadInput, OlafError, Problem
from olafctl.targets.interface import Registers
from olafctl.testbed.model import Cluster, Engine, Mode
from olafctl.wire.frames import float_bits

_BUSY_SECONDS = 5.0
_HALTED = 1 << 8
_MODES = {Mode.OLAF: 0, Mode.FIFO: 1, Mode.ISWITCH: 2}


class Command(IntEnum):
    """What the register ``command`` does to a range of indices."""

    SET = 1
    FBCAST = 2
    RESET = 3
    GET = 4


@dataclass(frozen=True)
class IndexSettings:
    """The settings of one index."""

    mode: Mode
    halted: bool
    threshold: int
    """H of iswitch mode."""
    reward_threshold: float | None
    """None switches the reward rule off."""

    @classmethod
    def of(cls, cluster: Cluster, halted: bool) -> "IndexSettings":
        """What every index of a cluster is given."""
        return cls(cluster.mode, halted, cluster.threshold, cluster.reward_threshold)


class QueueSettings(Protocol):
    """Settings by ranges of indices, ``first`` … ``last``; calls that reach the queue raise OlafError."""

    def refusal(self, settings: IndexSettings) -> Problem | None:
        """Why this queue cannot treat an index so; None when it can."""

    def differs(self, first: int, settings: IndexSettings) -> bool:
        """Whether the queue treats the index ``first`` otherwise."""

    def set(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give every index of the range these settings."""

    def command(self, command: Command, first: int, last: int) -> None:
        """FBCAST: release partial sums as they are. RESET: discard them and forget the finished rounds."""


class GlobalSettings:
    """A queue with one mode and one reward rule for all its indices, and without rounds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def refusal(self, settings: IndexSettings) -> Problem | None:
        engine = self._engine
        common = f"mode {engine.mode}, reward threshold {engine.reward_threshold or 'off'}"
        if (settings.mode, settings.reward_threshold) != (engine.mode, engine.reward_threshold):
            what = "this engine's queue treats all clusters alike"
            return Problem(what, remedy=f"its testbed says {common}")
        if settings.halted:
            return Problem("this engine's queue cannot halt one cluster", remedy="delete the cluster")
        return None

    def differs(self, first: int, settings: IndexSettings) -> bool:
        return False

    def set(self, first: int, last: int, settings: IndexSettings) -> None:
        if problem := self.refusal(settings):
            raise BadInput(problem)

    def command(self, command: Command, first: int, last: int) -> None:
        if command is Command.RESET:
            return  # without rounds there is nothing to discard
        what = "this engine's queue keeps no partial sums"
        raise BadInput(Problem(what, remedy="deploy an engine with iswitch mode"))


class RangeCommands:
    """A queue with settings for each index, staged in registers and carried out by its ``command``."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    def refusal(self, settings: IndexSettings) -> Problem | None:
        return None

    def differs(self, first: int, settings: IndexSettings) -> bool:
        self._carry_out(Command.GET, first, first)
        return any(self._registers.read(f"get_{name}") != value for name, value in _staged(settings).items())

    def set(self, first: int, last: int, settings: IndexSettings) -> None:
        for name, value in _staged(settings).items():
            self._registers.write(f"set_{name}", value)
        self._carry_out(Command.SET, first, last)

    def command(self, command: Command, first: int, last: int) -> None:
        self._carry_out(command, first, last)

    def _carry_out(self, command: Command, first: int, last: int) -> None:
        self._registers.write("range_first", first)
        self._registers.write("range_last", last)
        self._registers.write("command", command)
        deadline = time.monotonic() + _BUSY_SECONDS
        while self._registers.read("command_busy"):
            if time.monotonic() > deadline:
                raise OlafError(Problem(f"the queue does not finish {command.name}", "register command_busy"))
        if self._registers.read("command_error"):
            what = f"the queue refuses {command.name} for indices {first} … {last}"
            raise OlafError(Problem(what, "register command_error"))


def settings_of(registers: Registers, engine: Engine) -> QueueSettings:
    """The settings of the queue behind ``registers``, by what its build has. Raises OlafError."""
    try:
        registers.read("command_busy")
    except BadInput:
        return GlobalSettings(engine)
    except OlafError as error:
        # A process elsewhere says it in words.
        if any("no register" in problem.what for problem in error.problems):
            return GlobalSettings(engine)
        raise
    return RangeCommands(registers)


def _staged(settings: IndexSettings) -> dict[str, int]:
    threshold = settings.reward_threshold
    return {
        "mode": _MODES[settings.mode] | (_HALTED if settings.halted else 0),
        "threshold": settings.threshold,
        "reward_enable": 0 if threshold is None else 1,
        "reward_threshold": 0 if threshold is None else float_bits(threshold),
    }
