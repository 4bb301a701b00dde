"""Actors as processes: each plays a turn when it is invoked, and holds no core in between (ARTOS §4.3)."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Callable

from olaf.elastic.children import Children, Freeze, Gone, Sleeper
from olaf.elastic.lease import CPU, Held
from olaf.errors import ActorFailed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Turn = Callable[[], object]
"""Plays once, such as a block of steps into a ring; what it returns is not used."""
MOST_DEATHS = 3
"""An actor that has died so often in a row, without a turn in between, is not started again."""


class State(str, Enum):
    """The state of an actor."""

    STARTING = "starting"
    ASLEEP = "asleep"
    AWAKE = "awake"


class Staff(ABC):
    """Actors by number, wherever they are: ``Actors`` of this machine, ``Placed`` of a Ray cluster."""

    def __init__(self, held: Held, now: Callable[[], float]) -> None:
        """``held`` has a core for each actor from its start or waking until it sleeps; ``now`` in seconds."""
        self._held, self._now = held, now
        self.states: dict[int, State] = {}
        self._wanted: set[int] = set()
        """Actors that play, or will as soon as they have started."""
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

    @abstractmethod
    def pids(self) -> dict[int, int]:
        """Return the process ids of the actors that are processes of this machine."""

    def prepare(self, actors: Iterable[int]) -> None:
        """Have these there, so that they can be invoked at once; they sleep until then."""
        for number in actors:
            if number not in self.states:
                self._start_actor(number)

    def invoke(self, actors: Iterable[int]) -> None:
        """Let each of these play a turn."""
        for number in actors:
            if number in self._wanted:
                continue
            self._wanted.add(number)
            if number not in self.states:
                self._start_actor(number)
            elif self.states[number] is State.ASLEEP:
                self._held.hold(CPU, ("actor", number), self._now())
                self._play_turn(number)

    @abstractmethod
    def serve(self, seconds: float) -> list[int]:
        """Wait up to ``seconds`` for actors; those that have finished a turn. They sleep then.

        No turn waits for an actor that died in it. Raises ActorFailed where one raised an
        exception, or died again and again.
        """

    def close(self) -> None:
        """End all."""
        for number, state in self.states.items():
            if state is not State.ASLEEP:
                self._held.free(CPU, ("actor", number), self._now())
        self.states.clear()
        self._wanted.clear()

    def _start_actor(self, number: int) -> None:
        self._held.hold(CPU, ("actor", number), self._now())
        self.states[number] = State.STARTING

    def _play_turn(self, number: int) -> None:
        self.states[number] = State.AWAKE

    def _put_to_sleep(self, number: int) -> None:
        self.states[number] = State.ASLEEP
        self._held.free(CPU, ("actor", number), self._now())

    def _has_started(self, number: int) -> None:
        if number in self._wanted:
            self._play_turn(number)
        else:
            self._put_to_sleep(number)

    def _has_finished(self, number: int) -> None:
        self._wanted.discard(number)
        self._died.pop(number, None)
        self._put_to_sleep(number)

    def _has_died(self, number: int, reason: str) -> None:
        if self.states.pop(number) is not State.ASLEEP:
            self._held.free(CPU, ("actor", number), self._now())
        self._wanted.discard(number)
        self.deaths += 1
        self._died[number] += 1
        if self._died[number] >= MOST_DEATHS:
            raise ActorFailed(f"actor {number} died {MOST_DEATHS} times in a row, at last: {reason}")


class Actors(Staff):
    """Actors by number. Those that are asleep are stopped processes: no thread of theirs can run.

    An actor is put to sleep only between two turns, for within one it may hold a lock of the ring, which
    every other process would wait for. One that dies is started again when it is next invoked.
    """

    def __init__(
        self,
        begin: Callable[..., Turn],
        arguments: tuple[object, ...] = (),
        *,
        held: Held,
        now: Callable[[], float],
        sleeper: Sleeper | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        """In each actor's process ``begin(number, *arguments)``, of a module, gives its turn.

        ``held`` and ``now`` are as those of ``Staff``. ``preload`` are modules that actors find imported.
        """
        super().__init__(held, now)
        self._begin, self._arguments = begin, arguments
        self._children = Children([begin.__module__, *preload])
        self._sleeper = sleeper or Freeze()

    def pids(self) -> dict[int, int]:
        """Return the process ids by actor."""
        return self._children.pids()

    def serve(self, seconds: float) -> list[int]:
        finished = []
        for number, message in self._children.heard(seconds):
            if isinstance(message, Gone):
                self._has_died(number, message.reason)
            elif message is None:
                self._has_started(number)
            elif message == "":
                self._has_finished(number)
                finished.append(number)
            else:
                raise ActorFailed(f"actor {number} failed: {message}")
        return finished

    def close(self) -> None:
        self._children.close()
        super().close()

    def _start_actor(self, number: int) -> None:
        super()._start_actor(number)
        self._children.start(number, _run_actor, self._begin, number, self._arguments)

    def _play_turn(self, number: int) -> None:
        super()._play_turn(number)
        self._sleeper.wake(self.pids()[number])
        self._children.tell(number, None)

    def _put_to_sleep(self, number: int) -> None:
        self._sleeper.sleep(self.pids()[number])
        super()._put_to_sleep(number)


def _run_actor(
    pipe: Connection, begin: Callable[..., Turn], number: int, arguments: tuple[object, ...]
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        turn = begin(number, *arguments)
        pipe.send(None)
        while True:
            pipe.recv()
            turn()
            pipe.send("")
    except EOFError:
        return
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
