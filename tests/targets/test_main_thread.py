"""A deployment's process ends cleanly on a signal."""

import signal
import subprocess
import sys

import pytest

# The kernel may do this: the signal goes to another thread, here because the main thread blocks it.
_OTHER_THREAD = """
import signal, threading
from olafswitch import main_thread

threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
main_thread.serve(lambda: print("ready", flush=True), lambda: print("closed", flush=True))
"""
_AT_ONCE = """
import os, signal
from olafswitch import main_thread

main_thread.serve(lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: print("closed", flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_another_thread_takes_ends_it(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _OTHER_THREAD], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (output, process.returncode) == ("closed\n", 0)


def test_a_signal_that_follows_the_announcement_at_once_ends_it() -> None:
    ended = subprocess.run([sys.executable, "-c", _AT_ONCE], stdout=subprocess.PIPE, text=True, timeout=60)
    assert (ended.stdout, ended.returncode) == ("closed\n", 0)


def test_a_further_signal_after_the_end_says_nothing() -> None:
    """Ctrl-C is pressed twice, or a shell and its parent both pass it on."""
    program = f"{_AT_ONCE}\nos.kill(os.getpid(), signal.SIGINT)\n"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("closed\n", "", 0)
