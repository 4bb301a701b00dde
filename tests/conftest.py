"""For all tests."""

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, all_names, folder_of

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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
        yield Path(os.environ["OLAF_STATE"])
        for name in all_names():
            destroy_deployment(Store(folder_of(name)))
