"""Run daemon and agent as systemd services: their units, and reports of readiness (sd_notify(3))."""

import os
import re
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from olafctl import templates
from olafctl.targets.opennic.target import CARD, INTERFACE
from olafctl.targets.twin.attach import ENGINE_CPU
from olafswitch import paths
from olafswitch.errors import BadInput, Problem

_PLAIN = re.compile(r"[\w./:=,+@%$-]+")


def notify_manager(state: str) -> None:
    """Notify the service manager, as with ``READY=1``; do nothing without one."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        # An abstract address is written with @ for its leading zero byte.
        manager.connect("\0" + address[1:] if address.startswith("@") else address)
        manager.sendall(state.encode())


def watchdog_seconds() -> float | None:
    """Return the seconds between two ``WATCHDOG=1``, half of the unit's time; None when it has none."""
    wanted = os.environ.get("WATCHDOG_USEC", "")
    return int(wanted) / 2e6 if wanted.isdigit() and int(wanted) else None


def render_unit(template: str, words: Sequence[str]) -> str:
    """Return the unit that starts ``olafctl`` with these words, in the present folders. Raises BadInput for a
    word or a folder that would not be one line."""
    arguments = [word for word in words if word != "--systemd-unit"]
    # With -P, no module is taken from the working directory, which may be anyone's.
    command = [_quote_word(word) for word in (sys.executable, "-P", "-m", "olafctl", *arguments)]
    return templates.fill(
        template,
        command=" ".join(command).replace("$", "$$"),
        folder=_check_line(str(Path.cwd())),
        state=_quote_word(str(paths.state())),
        cache=_quote_word(str(paths.cache())),
        environment=[
            _quote_word(f"{name}={value}")
            for name, value in (
                ("OLAF_STATE", str(paths.state())),
                ("OLAF_CACHE", str(paths.cache())),
                *((name, os.environ.get(name)) for name in (ENGINE_CPU, CARD, INTERFACE)),
            )
            if value
        ],
        user=os.geteuid(),
    )


def _quote_word(text: str) -> str:
    """Return one word of a unit's line, quoted, whatever characters it has."""
    line = _check_line(text)
    if _PLAIN.fullmatch(line):
        return line
    return '"{}"'.format(line.replace("\\", "\\\\").replace('"', '\\"'))


def _check_line(text: str) -> str:
    """Return ``text`` with systemd's own mark doubled. Raises BadInput where it is not one line."""
    if not text.isprintable():
        raise BadInput(Problem("cannot stand in a systemd unit", text, "leave control characters out"))
    return text.replace("%", "%%")
