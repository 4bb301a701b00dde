"""What a worker remembers for a training that is resumed: its optimiser, in a file of its own."""

import contextlib
import logging
import os
import time
import zipfile
from pathlib import Path

import numpy as np

from olaflab.training.ppo import Learner

_LOG = logging.getLogger("olafctl")
_EVERY = 1.0
"""Seconds between two writes."""


class Memory:
    """Keeps a learner's state in a file, which is whole at any time; without it only the moments are lost."""

    def __init__(self, path: Path, learner: Learner) -> None:
        """Go on from the file, if it is there and fits."""
        self._path, self._learner = path, learner
        self._due = time.monotonic() + _EVERY
        self._told = False
        try:
            with np.load(path) as file:
                learner.restore({name: file[name] for name in file.files})
        except FileNotFoundError:
            pass
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            _LOG.warning("%s: %s; this worker's optimiser begins again", path, error)

    def keep(self, *, now: bool = False) -> None:
        """Write the state, if it is time or ``now``. What cannot be written is logged once."""
        if not now and time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            self._path.parent.mkdir(exist_ok=True)
            with new.open("wb") as file:
                np.savez(file, **self._learner.state())  # type: ignore[arg-type]  # no array is called allow_pickle
            new.replace(self._path)
        except OSError as error:
            if not self._told:
                _LOG.warning("%s: cannot be written: %s; the training goes on", self._path, error.strerror)
            self._told = True
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
