"""Workers on several machines, by Ray: each where its address is (extra ``ray``)."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ray
from olaf.worker import WorkerCounters
from ray.exceptions import RayError

from olaflab.training.plan import UpdateStep
from olaflab.training.team import Message, WorkerJob, run_worker
from olafswitch.errors import OlafError, Problem

_LOG = logging.getLogger("olafctl")
_LOOK = 0.1
"""Seconds between two looks at workers' messages."""
HERE = "local"
"""An address: a cluster of this machine alone, for the time of the training."""


class Machines:
    """A team whose workers are Ray tasks. One whose address is that of a Ray node runs there."""

    def __init__(self, cluster: str, jobs: Sequence[WorkerJob]) -> None:
        """``cluster`` is Ray's address of it, or ``local``. Raises OlafError when it does not answer."""
        here: dict[str, Any] = {"num_cpus": len(jobs) + 1, "include_dashboard": False}
        try:
            ray.init(address=cluster, log_to_driver=False, **(here if cluster == HERE else {}))
        except Exception as error:  # Ray raises no narrower one where a node does not start in time
            what = f"no Ray cluster answers: {error}"
            remedy = "try when the machine is less busy" if cluster == HERE else "start it with: ray start"
            raise OlafError(Problem(what, f"--ray {cluster}", remedy)) from error
        self.counters = {job.worker.name: WorkerCounters() for job in jobs}
        self._mailbox: Any = ray.remote(num_cpus=0)(_Mailbox).remote()
        nodes = ray.cluster_resources()
        self._tasks: dict[Any, str] = {}
        for job in jobs:
            node = f"node:{job.worker.ip}"
            task = ray.remote(num_cpus=1, max_retries=0, resources={node: 0.001} if node in nodes else {})(
                _run_task
            )
            # Another machine has no such folder.
            self._tasks[task.remote(replace(job, memory=None), self._mailbox)] = job.worker.name

    def __enter__(self) -> "Machines":
        return self

    def __exit__(self, *failure: object) -> None:
        ray.shutdown()

    @property
    def left(self) -> bool:
        """Whether any worker is still at it."""
        return bool(self._tasks)

    def steps(self, timeout: float) -> Sequence[UpdateStep]:
        """Return the workers' steps within ``timeout`` seconds."""
        ended, _ = ray.wait(list(self._tasks), timeout=min(timeout, _LOOK))
        found = []
        for name, message in ray.get(self._mailbox.take.remote()):
            if isinstance(message, UpdateStep):
                found.append(message)
            elif isinstance(message, WorkerCounters):
                self.counters[name] = message
            else:
                _LOG.warning("worker %s: %s; the others go on", name, message)
        for task in ended:
            name = self._tasks.pop(task)
            try:
                ray.get(task)
            except RayError:
                _LOG.warning("worker %s has died; the others go on", name)
        return found

    def stop(self) -> None:
        """Stop every worker after its present update."""
        ray.get(self._mailbox.stop.remote())


class _Mailbox:
    """An actor between the workers and the one who started them."""

    def __init__(self) -> None:
        self._messages: list[tuple[str, Message]] = []
        self._stopped = False

    def say(self, name: str, message: Message) -> None:
        self._messages.append((name, message))

    def take(self) -> list[tuple[str, Message]]:
        messages, self._messages = self._messages, []
        return messages

    def stop(self) -> None:
        self._stopped = True

    def stopped(self) -> bool:
        return self._stopped


class _Asking:
    """Whether to stop, by the mailbox."""

    def __init__(self, mailbox: Any) -> None:
        self._mailbox = mailbox

    def is_set(self) -> bool:
        return bool(ray.get(self._mailbox.stopped.remote()))

    def wait(self, timeout: float) -> bool:
        time.sleep(timeout)
        return False


def _run_task(job: WorkerJob, mailbox: Any) -> None:
    """Run a worker as a task of Ray."""
    run_worker(job, lambda message: ray.get(mailbox.say.remote(job.worker.name, message)), _Asking(mailbox))
