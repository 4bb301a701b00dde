"""p4runtime-shell, in the environment of its own that ``olafctl shell`` uses."""

from pathlib import Path

import pytest

from olafctl import environments
from olafswitch.errors import OlafError


def shell_python() -> Path:
    """Its interpreter; skips the test where it cannot be installed."""
    try:
        return environments.python(environments.SHELL, lambda step: None)
    except OlafError as error:
        pytest.skip(str(error))
