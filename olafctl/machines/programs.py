"""Run a program as a host on another machine, with this process's streams and signals."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Semaphore, Thread

import grpc

from olafctl.machines.client import MachineAgent

OUTPUT, ERRORS, ENDED = b"o", b"e", b"x"
"""The first byte of an answer: a piece of the program's output or errors, or how it ended."""
INPUT, INPUT_ENDS, SIGNAL = b"i", b"c", b"s"
"""The first byte of a request after the first request."""
PIECE = 1 << 16
_WAITING = 64
"""The pieces of input that may wait for the machine."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128


class _Requests:
    """The requests to send: the program, then its input, as fast as the machine takes it, and signals."""

    def __init__(self, first: bytes) -> None:
        # Signals come at any moment, which this kind of queue allows.
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        self._waiting.put(first)
        self._room = Semaphore(_WAITING)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            request = self._waiting.get()
            if request[:1] == INPUT:
                self._room.release()
            yield request

    def read_input(self) -> None:
        """Send this process's input until it ends."""
        while data := os.read(sys.stdin.fileno(), PIECE):
            self._room.acquire()
            self._waiting.put(INPUT + data)
        self._waiting.put(INPUT_ENDS)

    def send_signal(self, number: int, _: object) -> None:
        """Send a signal."""
        self._waiting.put(SIGNAL + str(number).encode())


def execute_program(agent: MachineAgent, host: str, line: Sequence[str]) -> int:
    """Run ``line`` as ``host``; return the exit code in a shell's numbers. Raises OlafError."""
    requests = _Requests(json.dumps({"host": host, "line": list(line)}).encode())
    for number in _SIGNALS:
        signal.signal(number, requests.send_signal)
    stream = agent.open_stream("Exec", 0, iter(requests))
    Thread(target=requests.read_input, name="input", daemon=True).start()
    streams = {OUTPUT: sys.stdout.buffer, ERRORS: sys.stderr.buffer}
    try:
        for answer in stream:
            if answer[:1] == ENDED:
                code = int(answer[1:])
                return code if code >= 0 else _BY_SIGNAL - code
            streams[answer[:1]].write(answer[1:])
            streams[answer[:1]].flush()
    except grpc.RpcError as error:
        raise agent.problem_of(error) from None
    finally:
        stream.cancel()
    raise AssertionError("a program ends")
