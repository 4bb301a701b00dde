"""The folders of what Olaf builds and of what runs."""

import os
from pathlib import Path


def cache() -> Path:
    """Return the folder of build results by content: ``$OLAF_CACHE``, else in the user's folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("OLAF_CACHE") or Path(base) / "olaf")


def state() -> Path:
    """Return the folder of desired state and running processes: ``$OLAF_STATE``, else in the user's
    folder."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(os.environ.get("OLAF_STATE") or Path(base) / "olaf")
