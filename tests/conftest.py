"""For all tests."""

import signal
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("hypothesis"):  # an operator who runs the packet tests need not have it
    from hypothesis import settings

    # How long an example takes says how busy the machine is.
    settings.register_profile("olaf", deadline=None)
    settings.load_profile("olaf")

pytest_plugins = ["tests.plugins.skips"]
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
