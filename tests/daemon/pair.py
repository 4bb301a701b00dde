"""Two switches for the tests, which can be made unreachable."""

from olaflab.daemon.switch_pair import RunningPair, SwitchPair
from olafswitch.errors import OlafError, Problem


class Pair(SwitchPair):
    """See :class:`SwitchPair`."""

    unreachable = False

    def running(self) -> RunningPair | None:
        if self.unreachable:
            raise OlafError(Problem("does not answer", self.testbed.name))
        return super().running()
