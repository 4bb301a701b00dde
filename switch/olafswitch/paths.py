"""Where what is built and what runs is kept."""

import os
from pathlib import Path


def cache() -> Path:
    """Content-addressed build results: ``$OLAF_CACHE``, else the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("OLAF_CACHE") or Path(base) / "olaf")


def state() -> Path:
    """Desired state and running processes: ``$OLAF_STATE``, else the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(os.environ.get("OLAF_STATE") or Path(base) / "olaf")
