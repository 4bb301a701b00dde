"""A publisher and its players as processes with kernel sockets, each in its host's namespace."""

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import olaf
from olaf.elastic.children import Children, Gone
from olaf.errors import OlafError as SdkError
from olaf.transport.port import Address
from olaf.transport.udp import UdpPort

from olafctl.membership.model import Host
from olafctl.testbed.model import Testbed
from olaflab.training.cosim.medium import address_of
from olaflab.training.replicas.lossy import LossyPort
from olaflab.weights.plan import Plan, Played, Published, Task, WeightsOutcome
from olafswitch.ports.namespace import run_within

_PUBLISHER = -1
_ENDING = 120.0
"""Seconds in which all players come to the last version."""
_SLICE = 0.5


class Team:
    """The processes of a run; a context manager that leaves none behind."""

    def __init__(self, bed: Testbed, plan: Plan, namespaces: Mapping[str, str | None]) -> None:
        """``namespaces`` are the hosts' by name."""
        self._bed, self._plan, self._namespaces = bed, plan, namespaces
        self._children = Children([__name__])
        (self._server,) = bed.parameter_servers
        self._players = bed.clusters[0].workers

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *_: object) -> None:
        self._children.close()

    def run_plan(self, seconds: float, progress: Callable[[str], None]) -> WeightsOutcome:
        """Run the whole plan, in at most so many seconds."""
        plan, outcome, events = self._plan, WeightsOutcome(), self._plan.events
        for number in range(plan.players - plan.late):
            self._begin(number)
        self._await(set(self._children.pids()), time.monotonic() + _ENDING, outcome)
        self._begin(_PUBLISHER)
        began, end, reached = time.monotonic(), time.monotonic() + seconds, 0
        while outcome.published is None and not outcome.problems and time.monotonic() < end:
            for number, message in self._children.heard(_SLICE):
                if number == _PUBLISHER and isinstance(message, int):
                    reached = message
                self._take(number, message, outcome)
            while events and reached >= events[0][0]:
                _, what, number = events.pop(0)
                progress(f"{what} {self._players[number].name} after {reached} versions")
                self._children.stop(number, kill=True) if what == "kill" else self._begin(number)
        outcome.seconds = time.monotonic() - began
        for number in self._children.pids().keys() - {_PUBLISHER}:
            self._children.tell(number, plan.versions)
        while len(outcome.played) < plan.players and not outcome.problems and time.monotonic() < end:
            for number, message in self._children.heard(_SLICE):
                self._take(number, message, outcome)
        if len(outcome.played) < plan.players:
            outcome.problems.append(f"{plan.players - len(outcome.played)} players have not ended")
        return outcome

    def _take(self, number: int, message: Any, outcome: WeightsOutcome) -> None:
        if isinstance(message, Published):
            outcome.published = message
        elif isinstance(message, Played):
            outcome.played.append(message)
        elif isinstance(message, Gone):
            outcome.problems.append(f"{number}: it has died")
        elif isinstance(message, str) and message:
            outcome.problems.append(f"{number}: {message}")

    def _await(self, numbers: set[int], end: float, outcome: WeightsOutcome) -> None:
        """Wait until these processes are ready."""
        while numbers and not outcome.problems and time.monotonic() < end:
            for number, message in self._children.heard(_SLICE):
                numbers.discard(number)
                self._take(number, message, outcome)

    def _begin(self, number: int) -> None:
        host: Host = self._server if number == _PUBLISHER else self._players[number]
        given = self._plan, host, self._bed, number, self._namespaces[host.name]
        self._children.start(number, _run, *given)


def _run(pipe: Connection, plan: Plan, host: Host, bed: Testbed, number: int, namespace: str | None) -> None:
    own = host.ip, host.udp_port if number != _PUBLISHER else bed.udp_port
    place: Address = (str(own[0]), own[1])
    try:
        if number == _PUBLISHER:
            _publish(plan, place, address_of(bed.clusters[0].workers[0]), namespace, pipe)
        else:
            (server,) = bed.parameter_servers
            _play(plan, place, (str(server.ip), bed.udp_port), host.name, number, namespace, pipe)
    except (SdkError, OSError, ValueError) as error:
        pipe.send(str(error))


def _publish(plan: Plan, own: Address, player: Address, namespace: str | None, pipe: Connection) -> None:
    task = Task(plan)
    digests, seconds, times = {}, [], {}
    publisher = run_within(
        namespace,
        lambda: olaf.Publisher(
            f"{player[0]}:{player[1]}", task.model, rate=plan.rate, mtu=1500, local=f"{own[0]}:{own[1]}"
        ),
    )
    with publisher:
        _wait(pipe, lambda: len(publisher.players) >= plan.players - plan.late)
        due = time.monotonic()
        for number in range(1, plan.versions + 1):
            if number > 1:
                task.step()
            began = time.perf_counter()
            version = publisher.publish()
            seconds.append(time.perf_counter() - began)
            digests[version] = hashlib.sha256(task.model["w"].tobytes()).hexdigest()
            times[version] = time.time()
            pipe.send(number)
            due = max(due + plan.pace, time.monotonic())
            pipe.poll(due - time.monotonic())
        _wait(pipe, lambda: all(one["dead"] or one["have"] >= version for one in publisher.players))
        sent = publisher.sent
        pipe.send(
            Published(
                digests,
                seconds,
                task.changed,
                sent.frames,
                sent.bytes,
                sent.repairs,
                publisher.counters.issued,
            )
        )
        with suppress(EOFError, OSError):
            pipe.recv()  # until the parent kills it


def _wait(pipe: Connection, until: Callable[[], bool]) -> None:
    """Look for what players report."""
    end = time.monotonic() + _ENDING
    while not until() and time.monotonic() < end and not pipe.poll(_SLICE / 10):
        pass


def _play(
    plan: Plan, own: Address, server: Address, name: str, number: int, namespace: str | None, pipe: Connection
) -> None:
    socket = run_within(namespace, lambda: UdpPort(own))
    port = LossyPort(socket, plan.loss, number)
    model = {"w": np.zeros(plan.values, np.uint16)}
    digests, seconds = {}, {}
    with olaf.Subscriber(f"{server[0]}:{server[1]}", model, port=port) as player:
        pipe.send("")
        last = None
        while last is None or player.version < last:
            player.wait(_SLICE)
            if (version := player.adopt()) is not None:
                seconds[version] = player.age
                digests[version] = hashlib.sha256(model["w"].tobytes()).hexdigest()
            if pipe.poll():
                last = pipe.recv()
        pipe.send(Played(name, digests, seconds, dict(player.counts)))
        with suppress(EOFError, OSError):
            pipe.recv()
