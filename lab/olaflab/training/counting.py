"""What a queue counts during a training that goes on when its engine dies and is started again."""

from olafctl.targets.interface import Registers
from olafswitch.errors import OlafError


class Counting:
    """A queue's counters from now on. What a dead engine counted after the last look is lost with it."""

    def __init__(self, registers: Registers) -> None:
        """Raises OlafError when the engine does not answer."""
        self._registers = registers
        self._last = registers.read_all()
        self._counted = dict.fromkeys(self._last, 0)
        self.answers = True
        """Whether the engine did when it was last looked at."""

    def look(self) -> dict[str, int]:
        """Read the counters by name; the last ones while the engine does not answer."""
        try:
            now = self._registers.read_all()
        except OlafError:
            self.answers = False
            return self._counted
        self.answers = True
        # Its clock begins with it.
        before = {} if now["cycle"] < self._last["cycle"] else self._last
        self._counted = {
            name: counted + now[name] - before.get(name, 0) for name, counted in self._counted.items()
        }
        self._last = now
        return self._counted


def lost(counted: dict[str, int]) -> int:
    """The updates that were dropped, whatever the reason."""
    return sum(value for name, value in counted.items() if name.startswith("dropped_"))
