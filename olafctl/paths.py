"""Where Olaf's own sources lie, and where it may keep what it builds and what it runs."""

import os
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parent.parent
_INSTALLED = Path(sys.prefix) / "share" / "olaf"


def sources() -> Path:
    """The folder that holds ``p4src``, ``hdl``, ``templates`` and ``testbeds``."""
    return _CHECKOUT if (_CHECKOUT / "p4src").is_dir() else _INSTALLED


def cache() -> Path:
    """Content-addressed build results: ``$OLAF_CACHE``, else the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("OLAF_CACHE") or Path(base) / "olaf")


def state() -> Path:
    """Desired state and running processes: ``$OLAF_STATE``, else the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(os.environ.get("OLAF_STATE") or Path(base) / "olaf")
