"""The answers of a process with an engine at its control socket."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Protocol

from olafctl.network.flow_rules import FlowRules
from olafctl.queue.registers import Command, QueueRegisters
from olafctl.queue.settings import IndexRange, of_all
from olafctl.targets.control import Handler
from olafctl.targets.interface import TargetDevice
from olafswitch.errors import OlafError, Problem


class HoldsQueues(Protocol):
    """An object with queues: an engine, or a card."""

    @property
    def register_sequences(self) -> AbstractContextManager[Any]:
        """Held for as long as accesses belong together."""

    def port_stats(self, number: int) -> Any:
        """Return the counts of a front port, as a dataclass."""

    def losses(self) -> Any:
        """Return the numbers of lost frames, by reason, as a dataclass."""


def make_handlers(
    engine: HoldsQueues,
    queues: Mapping[str, QueueRegisters],
    ports: Sequence[int],
    devices: Sequence[TargetDevice],
    carriers: Callable[[], Mapping[str, bool]] = dict,
) -> Mapping[str, Handler]:
    """Return handlers of ``devices``, ``stats``, and the registers of one of ``queues`` (``queue``, by its
    engine's name): ``elect``, ``read`` and ``write`` by name, ``read_all``; ``settings`` of all indices,
    ``configure`` and ``command`` for a range. ``carriers`` returns which front ports' cables are up."""

    def on(act: Callable[[QueueRegisters, dict[str, Any]], Any]) -> Handler:
        """Run ``act`` on the registers of the queue that a request names, one request at a time."""

        def handle(request: dict[str, Any]) -> Any:
            with engine.register_sequences:
                return act(queues[str(request["queue"])], request)

        return handle

    elected = dict.fromkeys(queues, 0)

    def changing(act: Callable[[QueueRegisters, dict[str, Any]], Any]) -> Handler:
        """Run ``act`` unless a controller with a higher election id came before; a request may have no id."""

        def handle(registers: QueueRegisters, request: dict[str, Any]) -> Any:
            queue = str(request["queue"])
            election = int(request.get("election", elected[queue]))
            if election < elected[queue]:
                raise OlafError(Problem("another controller is primary", f"queue of {queue}"))
            elected[queue] = election
            return act(registers, request)

        return on(handle)

    def configure(registers: QueueRegisters, request: dict[str, Any]) -> None:
        part = IndexRange.from_json(request["range"])
        registers.configure(part.first, part.last, part.settings)

    def write(registers: QueueRegisters, request: dict[str, Any]) -> None:
        registers.write(str(request["name"]), int(request["value"]))

    def command(registers: QueueRegisters, request: dict[str, Any]) -> None:
        which = Command[str(request["command"])]
        registers.command(which, int(request["first"]), int(request["last"]))

    def stats(_: dict[str, Any]) -> dict[str, Any]:
        counted = {str(number): asdict(engine.port_stats(number)) for number in ports}
        return {"ports": counted, "losses": asdict(engine.losses()), "carriers": dict(carriers())}

    listed = [{**asdict(each), "p4info": str(each.p4info), "config": str(each.config)} for each in devices]
    return {
        "read": on(lambda registers, request: registers.read(str(request["name"]))),
        "write": changing(write),
        "elect": changing(lambda registers, request: None),
        "read_all": on(lambda registers, _: registers.read_all()),
        "settings": on(lambda registers, _: [part.as_json() for part in of_all(registers)]),
        "configure": changing(configure),
        "command": changing(command),
        "stats": stats,
        "devices": lambda _: listed,
    }


class HoldsShards(Protocol):
    """An engine whose queue may consist of several shards."""

    @property
    def register_sequences(self) -> AbstractContextManager[Any]: ...

    def place(self, first: int, last: int, shard: int) -> None: ...

    def shard_of(self, index: int) -> int: ...

    def shards(self) -> list[dict[str, Any]]: ...


def shard_handlers(engine: HoldsShards, cards: Mapping[str, FlowRules]) -> Mapping[str, Handler]:
    """Return handlers of ``shards``: the work of each; ``owners`` of indices; ``place`` for a range of them;
    ``steer``: the shards of addresses, for ``cards`` by their port; ``steering``: its result."""

    def shards(_: dict[str, Any]) -> Any:
        with engine.register_sequences:
            return engine.shards()

    def steer(request: dict[str, Any]) -> None:
        with engine.register_sequences:
            for port, rules in cards.items():
                rules.give(request["queues"].get(port, {}))

    return {
        "shards": shards,
        "steer": steer,
        "steering": lambda _: {port: rules.state for port, rules in cards.items()},
        "owners": lambda request: [engine.shard_of(int(index)) for index in request["indices"]],
        "place": lambda request: engine.place(*(int(request[name]) for name in ("first", "last", "shard"))),
    }
