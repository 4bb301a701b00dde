"""Run a program as a host of this machine, for a caller elsewhere: its streams, signals and exit."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Thread, Timer
from typing import IO, Any

import grpc

from olafctl.control.hosts import programs
from olafctl.machines.calls import parse_request
from olafctl.machines.programs import ENDED, ERRORS, INPUT, INPUT_ENDS, OUTPUT, PIECE, SIGNAL
from olafswitch.errors import MissingTool

_WAITING = 64
"""The pieces of output that may wait for the caller."""
_PATIENCE = 5.0
"""Seconds between SIGTERM and SIGKILL for a program whose caller is gone."""
_Said = Queue[bytes | None]


def run_program(state: Path, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    """Run the program of the first request; it ends when its caller is gone. Raises OlafError."""
    asked = parse_request("Exec", next(requests, b""))
    try:
        line, environment = programs.host_command(state, asked["host"], asked["line"])
    except MissingTool as error:
        yield ERRORS + f"{error}\n".encode()
        yield ENDED + str(error.exit_code).encode()
        return
    pipe = subprocess.PIPE
    program = subprocess.Popen(
        line, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    assert program.stdin and program.stdout and program.stderr
    said: _Said = Queue(_WAITING)
    for kind, stream in ((OUTPUT, program.stdout), (ERRORS, program.stderr)):
        Thread(target=_read_output, args=(kind, stream, said), name="output", daemon=True).start()
    Thread(target=_obey_requests, args=(program, program.stdin, requests), name="input", daemon=True).start()
    left = 2
    try:
        if not context.add_callback(partial(_end_program, program)):
            _end_program(program)
        while left:
            if (piece := said.get()) is None:
                left -= 1
            else:
                yield piece
        yield ENDED + str(program.wait()).encode()
    finally:
        _end_program(program)
        while left:  # the thread that reads the output waits for room
            left -= said.get() is None


def _read_output(kind: bytes, stream: IO[bytes], said: _Said) -> None:
    with stream:
        while data := os.read(stream.fileno(), PIECE):
            said.put(kind + data)
    said.put(None)


def _obey_requests(program: subprocess.Popen[bytes], stdin: IO[bytes], requests: Iterator[bytes]) -> None:
    with suppress(grpc.RpcError, OSError, ValueError), stdin:
        for request in requests:
            if request[:1] == INPUT:
                stdin.write(request[1:])
                stdin.flush()
            elif request[:1] == INPUT_ENDS:
                stdin.close()
            elif request[:1] == SIGNAL:
                _send_signal(program, signal.Signals(int(request[1:])))


def _end_program(program: subprocess.Popen[bytes]) -> None:
    if program.poll() is None:
        _send_signal(program, signal.SIGTERM)
        killing = Timer(_PATIENCE, _send_signal, (program, signal.SIGKILL))
        killing.daemon = True
        killing.start()


def _send_signal(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, number)
