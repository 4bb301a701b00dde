"""Records of a training on disk, and the state from which it goes on."""

import contextlib
import csv
import logging
import os
import time
import zipfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import fmean

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from olafctl import plotting
from olafctl.membership.model import Cluster
from olaflab.training.head import Turnout
from olaflab.training.plan import UpdateStep
from olaflab.training.ppo import PpoLearner
from olafswitch.errors import BadInput, OlafError, Problem

_LOG = logging.getLogger("olafctl")
_EVERY = 1.0
"""Seconds between two writes."""


class Memory:
    """Keeps a learner's state in a file, which is whole at any time; without it only the moments are lost."""

    def __init__(self, path: Path, learner: PpoLearner) -> None:
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

    def save_state(self, *, now: bool = False) -> None:
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


UPDATES, CHECKPOINT, PICTURE = "updates.csv", "checkpoint.npz", "reward.png"
_OPTIMISERS = "optimisers"
_STEP = tuple(field.name for field in fields(UpdateStep) if field.name != "turnout")
_TURNOUT = tuple(field.name for field in fields(Turnout))
_COLUMNS = ("number", *_STEP, *_TURNOUT)
_OF_A_HEAD = ("awake", "fill", "lag", "waited")
_RECENT = 20
"""Updates that a shown mean is over."""


@dataclass(frozen=True)
class HeadUpdate:
    """A head's last update; the daemon receives it unchanged."""

    worker: str
    cluster: str
    awake: int
    """Actors at a time."""
    blocks: int
    fill: float
    """Share of the ring that was filled."""
    lag: int
    """Policy versions by which the oldest row was behind."""
    waited: float
    """Seconds that the learner waited for rows."""
    since: float
    """Seconds since the update."""


@dataclass(frozen=True)
class ClusterProgress:
    """How a cluster does at this moment."""

    time: float
    """Seconds since the training began."""
    updates: int
    reward: float
    """Like the two that follow, the mean over the last updates."""
    sent: float
    """Share of updates that were sent when they were ready."""
    probability: float
    age_of_model: float | None
    actors: float | None = None
    """Actors that were awake at a time in the heads' last updates."""
    fill: float | None = None
    """Share of their rings that was filled."""
    lag: float | None = None
    """Policy versions by which the oldest row was behind, at most."""
    waited: float | None = None
    """Seconds that learners waited for rows."""
    heads: tuple[HeadUpdate, ...] = ()


class Journal:
    """The folder of one training, which may have begun earlier."""

    def __init__(self, folder: Path, clusters: Sequence[Cluster], resume: bool) -> None:
        """Raises BadInput when there is a training already, or none to resume, OlafError for a bad file."""
        known = (folder / UPDATES).exists()
        if known and not resume:
            remedy = "add --resume to go on with it, or choose another folder with --out"
            raise BadInput(Problem("holds a training already", str(folder), remedy))
        if resume and not known:
            raise BadInput(Problem("no training to resume exists here", str(folder), "leave --resume out"))
        self._folder = folder
        self._clusters = clusters
        self.steps: list[UpdateStep] = []
        """All, those of earlier runs too."""
        self.done: Counter[str] = Counter()
        """Updates by worker."""
        self._recent: dict[int, deque[UpdateStep]] = {one.number: deque(maxlen=_RECENT) for one in clusters}
        self._newest: dict[str, UpdateStep] = {}
        """Newest step by worker."""
        self._ages: list[tuple[int, float, float]] = []
        self._full = False
        """Whether it was logged that something cannot be written."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if known:
                self._read_updates()
                if self.steps and not self.checkpoint.exists():
                    _LOG.warning("%s is not there: the weights begin again", self.checkpoint)
            self._file = (folder / UPDATES).open("a", newline="")
            self._lines = csv.writer(self._file)
            if not self._file.tell():
                self._lines.writerow(_COLUMNS)
            self._events = SummaryWriter(str(folder))
        except OSError as error:
            raise OlafError(Problem(f"cannot be written: {error.strerror}", str(folder))) from error

    @property
    def checkpoint(self) -> Path:
        """File of the parameter server's weights."""
        return self._folder / CHECKPOINT

    def memory(self, worker: str) -> Path:
        """Return the file of a worker's optimiser, absolute: a worker may be in another folder."""
        return self._folder.resolve() / _OPTIMISERS / f"{worker}.npz"

    @property
    def begin(self) -> float:
        """Seconds that earlier runs took."""
        return self.steps[-1].time if self.steps else 0.0

    def write_update(self, step: UpdateStep) -> None:
        """Write one more update."""
        self._keep_files(step)
        with self._going_on():
            turnout = astuple(step.turnout) if step.turnout is not None else [""] * len(_TURNOUT)
            line = (getattr(step, name) for name in _STEP)
            self._lines.writerow((self.done[step.worker], *line, *turnout))

    def report_cluster(
        self, cluster: Cluster, time: float, age_of_model: float | None
    ) -> ClusterProgress | None:
        """Report a cluster's figures, also to TensorBoard; None before its first update."""
        recent = self._recent[cluster.number]
        with self._going_on():
            self._file.flush()
        if not recent:
            return None
        figures = ClusterProgress(
            time=time,
            updates=sum(self.done[worker.name] for worker in cluster.workers),
            reward=fmean(step.reward for step in recent),
            sent=fmean(step.sent for step in recent),
            probability=fmean(step.probability for step in recent),
            age_of_model=age_of_model,
            **_of_heads([step.turnout for step in recent if step.turnout is not None]),
            heads=tuple(self._write_heads(cluster, time)),
        )
        with self._going_on():
            for name, value in vars(figures).items():
                if name not in ("updates", "heads") and value is not None:
                    self._events.add_scalar(f"{cluster.name}/{name}", value, figures.updates)
            for head in figures.heads:
                for name in _OF_A_HEAD:
                    place = f"{cluster.name}/{head.worker}/{name}"
                    self._events.add_scalar(place, getattr(head, name), self.done[head.worker])
        if age_of_model is not None:
            self._ages.append((cluster.number, time, age_of_model))
        return figures

    def close(self) -> Path | None:
        """Draw the picture, if there was any update. Raises OlafError when it cannot be written."""
        with self._going_on():
            self._file.close()
        with self._going_on():
            self._events.close()
        if not self.steps:
            return None
        drawing = plotting.new_figure(11, 4.2)
        rewards, ages = drawing.subplots(1, 2)
        for number, cluster in enumerate(self._clusters):
            colour = plotting.COLOURS[number % len(plotting.COLOURS)]
            steps = [step for step in self.steps if step.cluster == cluster.number]
            window = [steps[max(0, place - _RECENT) : place + 1] for place in range(len(steps))]
            means = [fmean(step.reward for step in part) for part in window]
            rewards.plot([step.time for step in steps], means, color=colour, label=cluster.name)
            aged = [(time, age) for index, time, age in self._ages if index == cluster.number]
            ages.plot([time for time, _ in aged], [age for _, age in aged], color=colour)
        rewards.set(xlabel="s", ylabel=f"mean reward of {_RECENT} updates")
        ages.set(xlabel="s", ylabel="average Age-of-Model, s")
        rewards.legend()
        plotting.save(drawing, self._folder / PICTURE)
        return self._folder / PICTURE

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Let the training go on when the disk has no room; log that once."""
        try:
            yield
        except OSError as error:
            if not self._full:
                _LOG.warning("%s: cannot be written: %s; the training goes on", self._folder, error.strerror)
            self._full = True

    def _write_heads(self, cluster: Cluster, time: float) -> Iterator[HeadUpdate]:
        for worker in cluster.workers:
            step = self._newest.get(worker.name)
            if step is not None and step.turnout is not None:
                made = step.turnout
                since = max(time - step.time, 0.0)
                yield HeadUpdate(worker.name, cluster.name, made.actors, made.blocks, made.fill, made.lag,
                           made.waited, since)  # fmt: skip

    def _keep_files(self, step: UpdateStep) -> None:
        self.steps.append(step)
        self._newest[step.worker] = step
        self.done[step.worker] += 1
        if step.cluster in self._recent:
            self._recent[step.cluster].append(step)

    def _read_updates(self) -> None:
        path = self._folder / UPDATES
        _drop_torn_line(path)
        with path.open(newline="") as file:
            for line, row in enumerate(csv.DictReader(file), 2):
                try:
                    step = UpdateStep(
                        float(row["time"]),
                        int(row["cluster"]),
                        row["worker"],
                        float(row["reward"]),
                        float(row["probability"]),
                        row["sent"] == "True",
                    )
                except (KeyError, TypeError, ValueError):
                    what = "is no update of a training"
                    raise OlafError(Problem(what, f"{path}:{line}", "remove that line")) from None
                self._keep_files(step)


def _of_heads(turnouts: Sequence[Turnout]) -> dict[str, float]:
    if not turnouts:
        return {}
    means = {name: fmean(getattr(each, name) for each in turnouts) for name in ("actors", "fill", "waited")}
    return {**means, "lag": max(each.lag for each in turnouts)}


def _drop_torn_line(path: Path) -> None:
    """Take away the end of a last line that a kill cut off. Raises OSError."""
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        with path.open("r+b") as file:
            file.truncate(whole)
