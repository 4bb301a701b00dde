"""The command and the user with which a program runs in a host's network namespace."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from olafctl.control.hosts import deployed
from olafctl.network import interfaces, ip
from olafswitch.errors import MissingTool, OlafError, Problem

_NOT_EXECUTABLE = 126
_NOT_FOUND = 127


def host_command(state: Path, host: str, line: Sequence[str]) -> tuple[list[str], Mapping[str, str]]:
    """Return the command that runs ``line`` as ``host`` of the deployment in ``state``, and its environment.

    Raises BadInput without such a host, MissingTool, with a shell's exit code, without such a program,
    OlafError for a user without the right.
    """
    namespace = deployed.namespace_of(state, host)
    if reason := interfaces.why_not():
        raise OlafError(Problem(reason, f"host {host}", "run as root"))
    if (found := shutil.which(line[0])) is None:
        is_file = os.sep in line[0] and Path(line[0]).exists()
        missing = MissingTool(Problem("may not be run" if is_file else "the program does not exist", line[0]))
        missing.exit_code = _NOT_EXECUTABLE if is_file else _NOT_FOUND
        raise missing
    environment = {**os.environ, ip.OWNER: str(state.resolve()), ip.HOST: host}
    return ["ip", "netns", "exec", namespace, found, *line[1:]], environment
