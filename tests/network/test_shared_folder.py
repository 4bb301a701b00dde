"""The folder of all namespaces on a machine belongs to everyone on it, also when a deploy makes it."""

import subprocess
import sys

import pytest

from olafctl.network import interfaces

_IN_A_RUN_OF_ITS_OWN = 'mount -t tmpfs none /run && umask 077 && exec "$@"'
_MAKE = """\
import stat, sys
from pathlib import Path
from olafctl.network import interfaces
interfaces.add_namespaces(Path("nowhere"), ["olaf-nowhere"])
print(oct(stat.S_IMODE(Path("/run/netns").stat().st_mode)))
"""
_LOOK = """\
import os, sys
from pathlib import Path
from olafctl.network import interfaces
Path("/run/netns").mkdir(mode=0o700)
os.setgid(65534), os.setuid(65534)
print(interfaces.namespaces_of(Path("nowhere")))
"""


def _alone(script: str) -> str:
    """Return the output of a Python script that has its own /run and makes files for itself only."""
    line = ["unshare", "--mount", "sh", "-c", _IN_A_RUN_OF_ITS_OWN, "sh", sys.executable, "-c", script]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


pytestmark = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


def test_others_may_look_into_a_folder_that_a_deploy_made() -> None:
    assert _alone(_MAKE) == "0o755"


def test_a_user_without_access_has_no_namespaces() -> None:
    """An older version made the folder like this; ordinary users then deploy with sockets all the same."""
    assert _alone(_LOOK) == "[]"
