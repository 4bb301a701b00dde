"""A termination signal lets a child program restore its settings first."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from olafctl.control import child

PUTS_BACK = """
import sys, time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.5)
    open(sys.argv[1], "w").close()
"""
PARENT = """
import sys
from olafctl.cli import main
from olafctl.control import child
words = [sys.executable, "-c", sys.argv[1], sys.argv[2]]
main.olafctl.main = lambda *given, **options: child.run_child(words)
main.main()
"""
BESIDE_GRPC = """
from concurrent.futures import ThreadPoolExecutor
import grpc
from olafctl.control import child
server = grpc.server(ThreadPoolExecutor(1))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
for number in range(30):
    channels = [grpc.insecure_channel(f"127.0.0.1:{port}", [("own", each)]) for each in range(4)]
    for channel in channels:
        assert channel.unary_unary("/no/call").future(b"").code() is grpc.StatusCode.UNIMPLEMENTED
    print(child.run_child(["true"]), end=" ", flush=True)
"""


@contextmanager
def run_parent(file: Path, before: str = "") -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Run a parent with a ready child and yield its output; the child restores its settings at the end."""
    line = [sys.executable, "-c", f"{before}\n{PARENT}", PUTS_BACK, str(file)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        yield parent, parent.stdout
    assert file.exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_it_is_waited_for(how: signal.Signals, tmp_path: Path) -> None:
    with run_parent(tmp_path / "put-back") as (parent, _):
        parent.send_signal(how)
        if how is not signal.SIGINT:
            os.kill(parent.pid, signal.SIGHUP)
        assert parent.wait() == 130


def test_it_is_interrupted_when_its_parent_is_killed(tmp_path: Path) -> None:
    with run_parent(tmp_path / "put-back") as (parent, output):
        parent.kill()
        output.read()  # the child holds the other end of this pipe until it has ended too


def test_its_code_is_returned() -> None:
    assert child.run_child([sys.executable, "-c", "raise SystemExit(7)"]) == 7


def test_it_starts_beside_the_threads_of_grpc() -> None:
    """These threads once ended one child in twenty before it began."""
    found = subprocess.run([sys.executable, "-c", BESIDE_GRPC], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["0"] * 30


def test_it_ends_though_we_were_started_deaf_to_interrupts(tmp_path: Path) -> None:
    # A shell without job control starts background programs like this.
    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    with run_parent(tmp_path / "put-back", deaf) as (parent, _):
        parent.send_signal(signal.SIGTERM)
        assert parent.wait() == 130
