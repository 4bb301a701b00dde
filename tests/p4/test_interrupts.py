"""An interrupted command ends, at whatever point the interrupt comes."""

import signal
import subprocess
import sys

import pytest

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


AT_EXIT = """
import atexit, os, signal, sys, threading, time, click
from olafswitch.console.command_line import run_command

def interrupt(kill=os.kill, own=os.getpid(), sleep=time.sleep):
    kill(own, 2)
    sleep(0.05)

class Finalized:
    def __del__(self, interrupt=interrupt):
        interrupt()

def interrupt_late():
    threading.main_thread().join()
    interrupt()

def leave(place):
    global kept
    if place == "callback":
        atexit.register(interrupt)
        kept = [[] for _ in range(1000000)]  # it takes a while to free
    elif place == "finalizer":
        kept = Finalized()
    elif place == "thread":
        threading.Thread(target=interrupt_late).start()

@click.command()
@click.argument("place")
def command(place):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leave(place)

run_command(command, lambda error: None, sys.argv[1:])
"""


@pytest.mark.parametrize("place", ["callback", "finalizer", "thread"])
def test_an_interrupt_at_exit_changes_nothing(place: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, place], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
