"""A network namespace in which to try what the kernel allows."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.network import ip
from olafswitch.ports.namespace import HOME

_NAME = re.compile(r"olaf-try-(\d+)-[0-9a-f]+")
"""The name of a trial namespace, with the process that made it."""


@contextmanager
def trial_namespace() -> Iterator[str]:
    """Yield the name of a trial namespace, which is removed afterwards. Raises OlafError."""
    sweep_namespaces()
    name = f"olaf-try-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        ip.run_ip(["netns", "add", name])
        yield name
    finally:
        ip.try_to(["netns", "delete", name])


def sweep_namespaces() -> None:
    """Remove the trial namespaces of processes that were killed."""
    for entry in HOME.glob("olaf-try-*"):
        made_by = _NAME.fullmatch(entry.name)
        if made_by and not Path("/proc", made_by[1]).exists():
            ip.try_to(["netns", "delete", entry.name])
