"""One ``simple_switch_grpc``: its command line and its start."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from socket import SOCK_STREAM

from olafctl.network.interfaces import cables_of
from olafctl.targets import processes
from olafctl.targets.bmv2.process import grpc_socket
from olafctl.targets.bmv2.wiring import make_cables
from olafctl.targets.deployment import EnginePart
from olafctl.wire.layouts import CPU_PORT
from olafswitch.errors import OlafError, Problem
from olafswitch.ports import unix

PROGRAM = "simple_switch_grpc"
_START_SECONDS = 30.0
_POLL_SECONDS = 0.02


def log_of(state: Path, device_id: int) -> Path:
    """Return the log of switch ``device_id``: its own messages and its output."""
    return state / f"vnp4_{device_id}.log"


def start_switch(state: Path, device_id: int, engines: Sequence[EnginePart]) -> None:
    """Start one of the switches that ``engines`` need, without a program, on its cables. Raises OlafError."""
    grpc_socket(state, device_id).unlink(missing_ok=True)
    # Its Thrift server always listens at every address; nothing else lives in this namespace.
    inside = ["ip", "netns", "exec", cables_of(state)]
    process = processes.spawn_process(
        [*inside, *_switch_command(device_id, engines)], state, log_of(state, device_id), folder=state
    )
    end = time.monotonic() + _START_SECONDS
    while not switch_answers(state, device_id):
        if process.poll() is not None or time.monotonic() > end:
            log = log_of(state, device_id)
            raise OlafError(
                Problem(
                    processes.last_words(log) or "exited without output", f"starting {PROGRAM}", f"see {log}"
                )
            )
        time.sleep(_POLL_SECONDS)


def switch_answers(state: Path, device_id: int) -> bool:
    """Return whether switch ``device_id`` accepts connections."""
    with suppress(OSError):
        unix.connect_to(grpc_socket(state, device_id), SOCK_STREAM, 1.0).close()
        return True
    return False


def _switch_command(device_id: int, engines: Sequence[EnginePart]) -> list[str]:
    # Paths are relative to the state folder: socket addresses are short.
    name = f"vnp4_{device_id}"
    general = ["--no-p4", "--device-id", str(device_id), "--log-console", "--log-level", "warn"]
    for cable in make_cables(engines):
        if cable.device == device_id:
            general += ["-i", f"{cable.switch_port}@{cable.pair.inner}"]
    # A build refuses options of parts that it lacks.
    if "--thrift-port" in _read_help():
        general += ["--thrift-port", str(9090 + device_id)]
    if "--notifications-addr" in _read_help():
        general += ["--notifications-addr", f"ipc://{name}.ipc.sock"]
    own = ["--grpc-server-addr", f"unix:{name}.grpc.sock", "--cpu-port", str(CPU_PORT)]
    return [PROGRAM, *general, "--", *own]


@cache
def _read_help() -> str:
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
