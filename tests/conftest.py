"""For all tests."""

import signal
from collections.abc import Iterator

import pytest

_SIGNALS = (signal.SIGINT, signal.SIGHUP)


@pytest.fixture(autouse=True, scope="session")
def hearing_signals() -> Iterator[None]:
    """What a test starts hears signals, also when the tests run in a shell's background or under nohup."""
    ignored = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        # A handler, unlike SIG_IGN, is not inherited by what is started.
        signal.signal(number, lambda number, frame: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
