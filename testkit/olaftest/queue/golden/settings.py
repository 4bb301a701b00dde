"""What an index does with its updates, and how commands change it."""

from dataclasses import dataclass, field

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.modes import Mode
from olaftest.queue.golden.iswitch import Rounds
from olaftest.queue.golden.iswitch_async import NumberedSums
from olaftest.queue.golden.staleness import Newest


@dataclass
class IndexState:
    """One index: its settings, its rounds, and which version of its weights is the newest."""

    settings: IndexSettings = field(default_factory=IndexSettings)
    rounds: Rounds = field(default_factory=Rounds)
    newest: Newest = field(default_factory=Newest)

    def set(self, settings: IndexSettings) -> None:
        """Apply new settings; in another mode it begins afresh."""
        if settings.mode != self.settings.mode:
            self.rounds = NumberedSums() if settings.mode is Mode.ISWITCH_ASYNC else Rounds()
        self.settings = settings


@dataclass(frozen=True)
class CommandStep:
    """A command at one index of its range."""

    command: Command
    index: int
    settings: IndexSettings
    """The staged ones; only SET applies them."""


def command_steps(command: Command, first: int, last: int, settings: IndexSettings) -> list[CommandStep]:
    """List a command's steps index by index, in order."""
    end = first if command is Command.GET else last
    return [CommandStep(command, index, settings) for index in range(first, end + 1)]
