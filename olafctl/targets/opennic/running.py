"""A card's running agent, seen from another process through its control socket."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from olafctl.targets.control import ask_process
from olafctl.targets.deployment import Deployment
from olafctl.targets.queue_process import LOG, ONLY, RunningProcess, SocketRegisters
from olafswitch.errors import OlafError


class RunningCard(RunningProcess):
    """The :class:`olafctl.targets.interface.Running` of a card."""

    called = "a card"

    def __init__(self, state: Path, recorded: Deployment, engine: str, logs: Sequence[str] = (LOG,)) -> None:
        """Connect to the agent in ``state``. Raises OlafError when it does not answer."""
        super().__init__(state, recorded)
        self._logs = logs
        self.queues = {engine: SocketRegisters(partial(ask_process, self._socket), ONLY)}

    def alive(self) -> bool:
        """Return whether the agent answers and the card answers the agent."""
        try:
            return bool(ask_process(self._socket, "card")["answers"])
        except OlafError:
            return False

    def logs(self) -> Sequence[Path]:
        """Return the agent's log, and the simulated card's."""
        return [self._state / name for name in self._logs]

    def stats(self) -> dict[str, Any]:
        """Return ``ports``: by number, frames each way; ``losses``: lost frames; ``card``: its links."""
        return {**super().stats(), "card": ask_process(self._socket, "card")}
