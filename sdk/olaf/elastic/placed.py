"""Actors on the machines of a Ray cluster, by the interface of those that are processes here."""

from __future__ import annotations

import socket
from collections import Counter
from typing import Any, Callable

import ray
from ray.exceptions import ActorUnschedulableError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from olaf.elastic.actors import Staff, State
from olaf.elastic.lease import Held
from olaf.errors import ActorFailed, OlafError

_REACH = 5.0
"""Seconds for a cluster to accept a connection."""


def reach(address: str) -> None:
    """Raise OlafError if nothing answers at ``host:port``; Ray judges other addresses.

    Ray itself tries for minutes, and lets nothing interrupt it meanwhile.
    """
    host, _, port = address.rpartition(":")
    if "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _REACH).close()
    except (OSError, OverflowError) as error:
        raise OlafError(f"no Ray cluster answers at {address}: {error} (start it with: ray start)") from error


class Placed(Staff):
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
        ``held`` and ``now`` are as those of ``Staff``. Raises OlafError where no cluster is at ``address``.
        """
        super().__init__(held, now)
        reach(address)
        try:
            ray.init(address=address, log_to_driver=False)
        except Exception as error:  # Ray raises no narrower one
            raise OlafError(
                f"no Ray cluster answers at {address}: {error} (start it with: ray start)"
            ) from error
        self._begin, self._arguments = begin, arguments
        self._take, self._deliver = take, deliver
        self.nodes: dict[int, str] = {}
        """The node of each actor, as Ray names it."""
        self._actors: dict[int, Any] = {}
        self._due: dict[Any, int] = {}
        """Actors by what they are to answer."""

    def pids(self) -> dict[int, int]:
        """Return nothing: no actor is a process of this machine."""
        return {}

    def serve(self, seconds: float) -> list[int]:
        finished: list[int] = []
        done, _ = ray.wait(list(self._due), timeout=seconds) if self._due else ([], [])
        while done:
            number = self._due.pop(done[0])
            try:
                brought = ray.get(done[0])
            except RayTaskError as error:
                raise ActorFailed(f"actor {number} failed: {error.cause}") from None
            except (RayActorError, ActorUnschedulableError) as error:
                self._has_died(number, str(error))
            else:
                if self.states[number] is State.AWAKE:
                    self._deliver(number, brought)
                    self._has_finished(number)
                    finished.append(number)
                else:
                    self._has_started(number)
            done, _ = ray.wait(list(self._due), timeout=0) if self._due else ([], [])
        return finished

    def close(self) -> None:
        for number in self.states:
            ray.kill(self._actors[number])
        self._due.clear()
        super().close()
        ray.shutdown()

    def _start_actor(self, number: int) -> None:
        super()._start_actor(number)
        self.nodes[number] = self._choose_node()
        where = NodeAffinitySchedulingStrategy(self.nodes[number], soft=False)
        make = ray.remote(num_cpus=0, max_restarts=0, scheduling_strategy=where)(_Actor)
        self._actors[number] = make.remote(self._begin, number, self._arguments)
        self._due[self._actors[number].ready.remote()] = number

    def _choose_node(self) -> str:
        """Choose the first node that has a core left; if none has, that with the fewest actors a core."""
        taken = Counter(self.nodes.values())
        cores = {each["NodeID"]: each["Resources"].get("CPU", 0.0) for each in ray.nodes() if each["Alive"]}
        usable = {node: count for node, count in cores.items() if count > 0} or dict.fromkeys(cores, 1.0)
        free = [node for node, count in usable.items() if taken[node] < count]
        return str(free[0] if free else min(usable, key=lambda node: taken[node] / usable[node]))

    def _play_turn(self, number: int) -> None:
        super()._play_turn(number)
        self._due[self._actors[number].turn.remote(self._take(number))] = number

    def _has_died(self, number: int, reason: str) -> None:
        del self.nodes[number], self._actors[number]
        super()._has_died(number, reason)


class _Actor:
    """An actor in a process of its node."""

    def __init__(
        self, begin: Callable[..., Callable[[Any], Any]], number: int, arguments: tuple[object, ...]
    ):
        self._turn = begin(number, *arguments)

    def ready(self) -> None:
        """Return once the actor has been made."""

    def turn(self, taken: Any) -> Any:
        return self._turn(taken)
