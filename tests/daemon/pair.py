"""Two switches for the tests, with a model of the queue's registers for settings by index."""

from olafctl.bench.switch_pair import RunningPair, SwitchPair
from olafctl.errors import OlafError, Problem

_STAGED = ("mode", "threshold", "reward_enable", "reward_threshold")
_AFTER_RESET = (0, 1, 0, 0)


class ModelRegisters:
    """The registers of settings by index, as specified: staged, then carried out by a command."""

    def __init__(self, indices: int) -> None:
        self.settings: list[tuple[int, ...]] = [_AFTER_RESET] * indices
        self.commands: list[tuple[int, int, int]] = []
        """FBCAST (2) and RESET (3) with their first and last index, in order."""
        self._values: dict[str, int] = {"command_busy": 0, "command_error": 0}

    def read(self, name: str) -> int:
        return self._values.get(name, 0)

    def write(self, name: str, value: int) -> None:
        self._values[name] = value
        if name != "command":
            return
        first, last = self._values["range_first"], self._values["range_last"]
        self._values["command_error"] = int(not first <= last < len(self.settings))
        if self._values["command_error"]:
            return
        if value == 1:
            settings = tuple(self._values[f"set_{staged}"] for staged in _STAGED)
            self.settings[first : last + 1] = [settings] * (last + 1 - first)
        elif value == 4:
            self._values.update(
                (f"get_{staged}", now) for staged, now in zip(_STAGED, self.settings[first], strict=True)
            )
        else:
            self.commands.append((value, first, last))

    def read_all(self) -> dict[str, int]:
        return dict(self._values)


class Pair(SwitchPair):
    """Switches that can be made unreachable."""

    registers: ModelRegisters
    unreachable = False

    def running(self) -> RunningPair | None:
        if self.unreachable:
            raise OlafError(Problem("does not answer", self.testbed.name))
        return super().running()
