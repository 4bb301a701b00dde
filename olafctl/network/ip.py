"""Run the programs ``ip`` and ``tc`` of iproute2: one command, or many in one run."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from olafswitch.errors import OlafError, Problem

OWNER = "OLAF_DEPLOYMENT"
"""The environment variable in which every process of a deployment carries its state folder. An ``ip`` carries
it too: when its parent is killed, the next destroy ends it before it removes its interfaces."""
HOST = "OLAF_HOST"
"""The environment variable in which a program of a host carries the host's name; the engine has none."""
NO_IP = "the program `ip` (package iproute2) is not installed"


def is_installed(program: str = "ip") -> bool:
    """Return whether PATH has such a program."""
    return shutil.which(program) is not None


def run_ip(arguments: Sequence[str], state: Path | None = None, program: str = "ip") -> None:
    """Run ``program`` with ``arguments``, for the deployment in ``state``. Raises OlafError."""
    _run_program(program, arguments, None, state)


def run_batch(options: Sequence[str], lines: Sequence[str], state: Path | None = None) -> None:
    """Run each of ``lines`` as one command of ``ip`` with ``options``. Raises OlafError at the first that
    fails; the commands before it stay done."""
    if lines:
        _run_program("ip", [*options, "-batch", "-"], "\n".join(lines) + "\n", state)


def read_output(arguments: Sequence[str], program: str = "ip") -> str:
    """Return what ``program`` prints. Raises OlafError."""
    return _run_program(program, arguments, None, None)


def try_to(arguments: Sequence[str]) -> None:
    """Run ``ip``, whether it succeeds or not."""
    subprocess.run(["ip", *arguments], capture_output=True, check=False)


def _run_program(program: str, arguments: Sequence[str], given: str | None, state: Path | None) -> str:
    environment = None if state is None else {**os.environ, OWNER: str(state.resolve())}
    # `ip netns add` makes /run/netns for everyone on this machine, whatever the rights of our own files.
    done = subprocess.run(
        [program, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        umask=0o022,
    )
    if done.returncode:
        message = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise OlafError(Problem(message, _failed_command(program, arguments, given, done.stderr)))
    return done.stdout


def _failed_command(program: str, arguments: Sequence[str], given: str | None, message: str) -> str:
    """Return the command that failed; in a batch, the line that ``message`` names."""
    failed = re.search(r"Command failed -:(\d+)", message)
    if given is None or failed is None:
        return f"{program} {' '.join(arguments)}"
    return f"{program} {' '.join([*arguments[:-2], given.splitlines()[int(failed[1]) - 1]])}"
