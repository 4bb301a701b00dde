"""Actors on the machines of a Ray cluster, by the interface of those that are processes here."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterable
from typing import Any, Callable

import ray
from ray.exceptions import ActorUnschedulableError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from olaf.elastic.actors import MOST_DEATHS, State
from olaf.elastic.held import CPU, Held
from olaf.errors import ActorFailed, OlafError

_REACH = 5.0
"""Seconds for a cluster to accept a connection."""


def reach(address: str) -> None:
    """Raises OlafError where nothing is at ``host:port``; other addresses are for Ray to judge.

    Ray itself tries for minutes, and lets nothing interrupt it meanwhile.
    """
    host, _, port = address.rpartition(":")
    if "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _REACH).close()
    except (OSError, OverflowError) as error:
        raise OlafError(f"no Ray cluster answers at {address}: {error} (start it with: ray start)") from error


class Placed:
    """Actors by number, each on the first node that has a core left for it.

    A ring does not reach other machines: what a turn takes along and what it brings back are messages. An
    actor that is asleep waits for the next. Ray counts no core for any, since it cannot give one back while
    an actor lives; so leave them nodes where other tasks of Ray need none. One whose node is gone is started
    again on another when it is next invoked.
    """

    def __init__(
        self,
        address: str,
        begin: Callable[..., Callable[[Any], Any]],
        arguments: tuple[object, ...] = (),
        *,
        held: Held,
        now: Callable[[], float],
        take: Callable[[int], object],
        deliver: Callable[[int, Any], object],
    ) -> None:
        """In each actor ``begin(number, *arguments)``, of a module that its node has, gives its turn.

        A turn is called with ``take(number)``, and what it returns is what ``deliver(number, …)`` gets here.
        ``held`` and ``now`` are as those of ``Actors``. Raises OlafError where no cluster is at ``address``.
        """
        reach(address)
        try:
            ray.init(address=address, log_to_driver=False)
        except Exception as error:  # Ray raises no narrower one
            raise OlafError(
                f"no Ray cluster answers at {address}: {error} (start it with: ray start)"
            ) from error
        self._begin, self._arguments = begin, arguments
        self._held, self._now, self._take, self._deliver = held, now, take, deliver
        self.states: dict[int, State] = {}
        self.nodes: dict[int, str] = {}
        """The node of each actor, as Ray names it."""
        self._actors: dict[int, Any] = {}
        self._due: dict[Any, int] = {}
        """Actors by what they are to answer."""
        self._wanted: set[int] = set()
        self._died: Counter[int] = Counter()
        self.deaths = 0

    @property
    def awake(self) -> int:
        """Actors that hold a core: that play or start."""
        return sum(state is not State.ASLEEP for state in self.states.values())

    @property
    def playing(self) -> int:
        """Actors that were invoked and have not finished."""
        return len(self._wanted)

    def pids(self) -> dict[int, int]:
        """None is a process of this machine."""
        return {}

    def prepare(self, actors: Iterable[int]) -> None:
        """Have these there, so that they can be invoked at once; they sleep until then."""
        for number in actors:
            if number not in self.states:
                self._start(number)

    def invoke(self, actors: Iterable[int]) -> None:
        """Let each of these play a turn."""
        for number in actors:
            if number in self._wanted:
                continue
            self._wanted.add(number)
            if number not in self.states:
                self._start(number)
            elif self.states[number] is State.ASLEEP:
                self._held.hold(CPU, ("actor", number), self._now())
                self._play(number)

    def serve(self, seconds: float) -> list[int]:
        """Wait up to ``seconds`` for actors; those that have finished a turn, whose rows were delivered.

        An actor that died is no longer waited for. Raises ActorFailed where one raised an exception, or died
        again and again.
        """
        finished: list[int] = []
        said, _ = ray.wait(list(self._due), timeout=seconds) if self._due else ([], [])
        while said:
            number = self._due.pop(said[0])
            try:
                brought = ray.get(said[0])
            except RayTaskError as error:
                raise ActorFailed(f"actor {number} failed: {error.cause}") from None
            except (RayActorError, ActorUnschedulableError) as error:
                self._lost(number, str(error))
            else:
                if self._answered(number, brought):
                    finished.append(number)
            said, _ = ray.wait(list(self._due), timeout=0) if self._due else ([], [])
        return finished

    def close(self) -> None:
        """End all."""
        for number, state in self.states.items():
            ray.kill(self._actors[number])
            if state is not State.ASLEEP:
                self._held.free(CPU, ("actor", number), self._now())
        self.states.clear()
        self._wanted.clear()
        self._due.clear()
        ray.shutdown()

    def _start(self, number: int) -> None:
        self._held.hold(CPU, ("actor", number), self._now())
        self.states[number], self.nodes[number] = State.STARTING, self._node()
        where = NodeAffinitySchedulingStrategy(self.nodes[number], soft=False)
        make = ray.remote(num_cpus=0, max_restarts=0, scheduling_strategy=where)(_Actor)
        self._actors[number] = make.remote(self._begin, number, self._arguments)
        self._due[self._actors[number].ready.remote()] = number

    def _node(self) -> str:
        """The first that has a core left; where none has, the one with the fewest actors a core."""
        taken = Counter(self.nodes[number] for number in self.states if number in self.nodes)
        cores = {each["NodeID"]: each["Resources"].get("CPU", 0.0) for each in ray.nodes() if each["Alive"]}
        usable = {node: count for node, count in cores.items() if count > 0} or dict.fromkeys(cores, 1.0)
        free = [node for node, count in usable.items() if taken[node] < count]
        return str(free[0] if free else min(usable, key=lambda node: taken[node] / usable[node]))

    def _answered(self, number: int, brought: Any) -> bool:
        """Whether that was a turn."""
        played = self.states[number] is State.AWAKE
        if played:
            self._wanted.discard(number)
            self._died.pop(number, None)
            self._deliver(number, brought)
        elif number in self._wanted:
            self._play(number)
            return False
        self.states[number] = State.ASLEEP
        self._held.free(CPU, ("actor", number), self._now())
        return played

    def _play(self, number: int) -> None:
        self.states[number] = State.AWAKE
        self._due[self._actors[number].turn.remote(self._take(number))] = number

    def _lost(self, number: int, reason: str) -> None:
        del self.states[number], self.nodes[number], self._actors[number]
        self._held.free(CPU, ("actor", number), self._now())
        self._wanted.discard(number)
        self.deaths += 1
        self._died[number] += 1
        if self._died[number] >= MOST_DEATHS:
            raise ActorFailed(f"actor {number} died {MOST_DEATHS} times in a row, at last: {reason}")


class _Actor:
    """In a process of its node."""

    def __init__(
        self, begin: Callable[..., Callable[[Any], Any]], number: int, arguments: tuple[object, ...]
    ):
        self._turn = begin(number, *arguments)

    def ready(self) -> None:
        """It was made."""

    def turn(self, taken: Any) -> Any:
        return self._turn(taken)
