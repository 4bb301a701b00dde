"""Where Olaf's own sources lie, and where it may keep what it builds and what it runs."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IN_WHEEL = _PACKAGE / "sources"


def sources() -> Path:
    """The folder that holds ``p4src``, ``hdl``, ``templates``, ``testbeds`` and ``tests/packets``.

    In a wheel they lie inside the package (setup.py puts them there), in a checkout next to it.
    """
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parent


def cache() -> Path:
    """Content-addressed build results: ``$OLAF_CACHE``, else the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("OLAF_CACHE") or Path(base) / "olaf")


def state() -> Path:
    """Desired state and running processes: ``$OLAF_STATE``, else the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(os.environ.get("OLAF_STATE") or Path(base) / "olaf")
