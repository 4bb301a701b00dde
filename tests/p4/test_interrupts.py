"""An interrupted command ends, at whatever point the interrupt comes."""

import signal
import subprocess
import sys

IN_A_CALLBACK = """
import ctypes, time, click
from olafswitch.console.command_line import run_command

@ctypes.CFUNCTYPE(None)
def wait():
    print("waits", flush=True)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass

@click.command()
def command():
    wait()
    while True:
        time.sleep(1)

run_command(command, lambda error: None, [])
"""


def test_an_interrupt_in_a_librarys_callback_ends_the_command() -> None:
    began = subprocess.Popen(
        [sys.executable, "-c", IN_A_CALLBACK], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert began.stdout is not None
    assert began.stdout.readline() == b"waits\n"
    began.send_signal(signal.SIGTERM)
    out, errors = began.communicate(timeout=30)
    assert (began.returncode, errors.strip()) == (130, b"interrupted"), out
