"""Settings and fixtures of all tests."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, all_names, folder_of

if find_spec("hypothesis"):  # an operator who runs the packet tests may lack it
    from hypothesis import settings

    # The duration of an example depends on how busy the machine is.
    settings.register_profile("olaf", deadline=None)
    settings.load_profile("olaf")

pytest_plugins = ["tests.plugins.skips"]
_SIGNALS = (signal.SIGINT, signal.SIGHUP)


@pytest.fixture(autouse=True, scope="session")
def hearing_signals() -> Iterator[None]:
    """Let programs of a test hear signals, also when the tests run in a background or under nohup."""
    ignored = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        # A started program does not inherit a handler, unlike SIG_IGN.
        signal.signal(number, lambda number, frame: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def provide_state(folder: Path) -> Iterator[Path]:
    """Make ``folder`` the state folder; deployments in it are destroyed afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        yield folder
        for name in all_names():
            destroy_deployment(Store(folder_of(name)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provide a state folder for all tests of a module."""
    with provide_state(tmp_path_factory.mktemp("s")) as folder:
        yield folder


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provide a state folder for one test."""
    with provide_state(tmp_path_factory.mktemp("s")) as folder:
        yield folder
