"""Daemon and agent as systemd services: their units, and how they report readiness (sd_notify(3))."""

import os
import shlex
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from olafctl import templates
from olafctl.targets.opennic.target import CARD, INTERFACE
from olafctl.targets.twin.attach import ENGINE_CPU
from olafswitch import paths


def notify_manager(state: str) -> None:
    """Notify the service manager, as ``READY=1``; without one nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        # An abstract address is written with @ for its leading zero byte.
        manager.connect("\0" + address[1:] if address.startswith("@") else address)
        manager.sendall(state.encode())


def watchdog_seconds() -> float | None:
    """Seconds between two ``WATCHDOG=1``: half of the unit's time; None when it has none."""
    wanted = os.environ.get("WATCHDOG_USEC", "")
    return int(wanted) / 2e6 if wanted.isdigit() and int(wanted) else None


def render_unit(template: str, words: Sequence[str]) -> str:
    """Return the unit that starts ``olafctl`` with these words, in the folders that are used now."""
    arguments = [word for word in words if word != "--systemd-unit"]
    # % is systemd's own mark in a command line.
    # -P: no module is taken from the working directory, which may be anyone's.
    command = shlex.join([sys.executable, "-P", "-m", "olafctl", *arguments]).replace("%", "%%")
    return templates.fill(
        template,
        command=command,
        folder=Path.cwd(),
        state=paths.state(),
        cache=paths.cache(),
        user=os.geteuid(),
        engine_cpu=os.environ.get(ENGINE_CPU),
        card={name: os.environ[name] for name in (CARD, INTERFACE) if name in os.environ},
    )
