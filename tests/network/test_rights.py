"""Whether interfaces can be made is tried by making one, not concluded from the process's rights."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl.network import interfaces

_ASK = "from olafctl.network import interfaces as i; print(i.why_not()); print(i.why_no_tap())"


def _has_namespaces() -> bool:
    unshare = shutil.which("unshare")
    return bool(unshare) and not subprocess.run([str(unshare), "-Ur", "true"], check=False).returncode


@pytest.mark.skipif(not _has_namespaces(), reason="no user namespaces here")
def test_root_without_network_rights_gets_a_reason() -> None:
    asked = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-c", _ASK], capture_output=True, text=True, check=True
    )
    assert [line.partition(":")[0] for line in asked.stdout.splitlines()] == [
        "making interfaces is not allowed here"
    ] * 2
    assert not asked.stderr


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_finding_out_leaves_nothing() -> None:
    subprocess.run([sys.executable, "-c", _ASK], capture_output=True, check=True)
    assert not list(Path("/sys/class/net").glob("olaft*"))
    assert not list(Path("/run/netns").glob("olaf-try-*"))
