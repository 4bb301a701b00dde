"""A deployment's process ends cleanly when it is told to."""

import os
import signal
import subprocess
import sys

import pytest

# As the kernel may: the signal is another thread's, here because the main one blocks it.
_PROGRAM = """
import signal, sys, threading
from olafctl.targets import main_thread

threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
main_thread.serve(int(sys.argv[1]), "up", lambda: print("closed", flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_another_thread_takes_ends_it(number: signal.Signals) -> None:
    readable, writable = os.pipe()
    line = [sys.executable, "-c", _PROGRAM, str(writable)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, pass_fds=[writable], text=True) as process:
        os.close(writable)
        with os.fdopen(readable) as ready:
            assert ready.readline().strip() == '"up"'
        process.send_signal(number)
        try:
            said, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (said, process.returncode) == ("closed\n", 0)
