"""A control socket answers its owner alone, whatever the modes of its file and folder have become."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.targets.control import ControlServer, ask_process

_STRANGER = """
import os, socket, sys
os.setgid(65534), os.setuid(65534)
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
try:
    peer.sendall(b'{"do": "hello"}\\n')
    print(peer.recv(100))
except OSError:
    print(b"")
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Provide a folder that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="olaf-c-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "control"


def test_another_user_gets_no_answer(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    server = ControlServer(place, {"hello": lambda request: "secret"}, {})
    try:
        place.chmod(0o666)
        argv = [sys.executable, "-I", "-c", _STRANGER, str(place)]
        output = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
        assert output.stdout.strip() == "b''"
        assert ask_process(place, "hello") == "secret"
    finally:
        server.close()
