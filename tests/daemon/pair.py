"""Two switches for the tests, which can be made unreachable."""

from olafswitch.errors import OlafError, Problem
from olaftest.daemon.switch_pair import RunningPair, SwitchPair


class DaemonPair(SwitchPair):
    """A :class:`SwitchPair` for the daemon's tests."""

    unreachable = False

    def running(self) -> RunningPair | None:
        if self.unreachable:
            raise OlafError(Problem("does not answer", self.testbed.name))
        return super().running()
