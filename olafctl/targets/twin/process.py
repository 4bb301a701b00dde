"""The twin's process: ``python -m olafctl.targets.twin.process STATE``.

One native thread moves frames through all engines; Python serves P4Runtime for both blocks of each, and the
control socket.
"""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from olafctl.network.claims import Claims
from olafctl.network.flow_rules import FlowRules
from olafctl.targets import deployment, privileges, serving_process
from olafctl.targets.control import ControlServer, TakeOver
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.targets.front_ports import FrontPort
from olafctl.targets.queue_control import make_handlers, shard_handlers
from olafctl.targets.queue_process import SOCKET
from olafctl.targets.replay_stream import refuse_session
from olafctl.targets.twin.attach import attach_port, own_ports, receive_for_hosts, start_engine, wire_engine
from olafctl.wire.layouts import CPU_PORT
from olafswitch.console.output import print_error
from olafswitch.engine.device import EngineSwitch
from olafswitch.errors import OlafError
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.agent import serve_devices
from olafswitch.ports.transport import Transport

GRPC_SOCKET = "p4runtime.sock"
_HANDOVER_SECONDS = 1.0


@contextmanager
def serve_twin(state: Path) -> Iterator[str]:
    """Serve the twin deployed in ``state`` and yield its P4Runtime address. Raises OlafError or OSError."""
    recorded = deployment.require_deployment(state)
    made = any(port.transport in (Transport.VETH, Transport.TAP) for port in recorded.ports)
    privileges.keep_capabilities(privileges.NEEDED | ({privileges.NAMESPACES} if made else set()))
    with ExitStack() as stack:
        engine = PipelineEngine(recorded.engines[0].shards)
        switches = {
            device.device_id: stack.enter_context(closing(EngineSwitch(engine, place, CPU_PORT)))
            for place, device in enumerate(recorded.devices)
        }
        # It is closed before the switches, as it cuts off a replay, which would keep them waiting.
        stack.callback(engine.close)
        wire_engine(engine, recorded.engines, recorded.links)
        ports = stack.enter_context(closing(_Ports(engine, state)))
        ports.open()
        agent = serve_devices(switches, addresses.of_socket(state.resolve() / GRPC_SOCKET))
        stack.callback(agent.stop)
        devices = [replace(device, address=agent.address) for device in recorded.devices]
        queues = {part.name: engine.registers(n) for n, part in enumerate(recorded.engines)}
        answers = {
            **make_handlers(engine, queues, ports.all, devices, ports.carriers),
            **shard_handlers(engine, ports.cards),
            "open": lambda _: ports.open(),
            "close": lambda request: ports.shut(request["ports"]),
        }
        control = ControlServer(state / SOCKET, answers, {"replay": _one_replay_at_a_time(engine)})
        stack.callback(control.close)
        start_engine(engine, recorded.ports, state, steered=recorded.target != "software")
        yield agent.address


class _Ports:
    """The front ports of an engine, which come and go while it runs."""

    def __init__(self, engine: PipelineEngine, state: Path) -> None:
        self._engine, self._state = engine, state
        self._open: dict[int, FrontPort] = {}
        self._claims = Claims()
        self.all: list[int] = []
        """With those of links."""
        self.cards: dict[str, FlowRules] = {}

    def open(self) -> None:
        """Open the recorded ports that are not open yet. Raises OlafError."""
        recorded = deployment.require_deployment(self._state)
        with self._engine.register_sequences:
            own_ports(self._engine, recorded.engines)
            new = [port for port in recorded.ports if port.number not in self._open]
            self._claims.take(name for port in new for name in port.claims)
            for port in new:
                attach_port(self._engine, port, self._state)
                self._open[port.number] = port
                if port.transport is Transport.NIC and self._engine.lanes > 1:
                    self.cards[str(port.number)] = FlowRules(port.inner)
            if recorded.target == "software":
                receive_for_hosts(new, self._state)
        self.all[:] = recorded.all_ports

    def carriers(self) -> dict[str, bool]:
        """Return whether the cable at each open front port that has a cable is up, by number."""
        found = {str(number): port.has_carrier for number, port in [*self._open.items()]}
        return {number: up for number, up in found.items() if up is not None}

    def shut(self, numbers: Iterable[int]) -> None:
        """Close these ports, where they are open."""
        with self._engine.register_sequences:
            for number in self._open.keys() & numbers:
                self.all.remove(number)
                self._engine.remove_port(number)
                self._claims.release(self._open.pop(number).claims)
                if rules := self.cards.pop(str(number), None):
                    rules.give({})

    def close(self) -> None:
        """Remove all rules from cards; the engine closes its open ports."""
        for rules in self.cards.values():
            rules.give({})
        self._claims.release()


def _one_replay_at_a_time(engine: PipelineEngine) -> TakeOver:
    running = threading.Lock()

    def replay(peer: socket.socket) -> None:
        # A session whose peer has just gone needs a moment to notice.
        if not running.acquire(timeout=_HANDOVER_SECONDS):
            refuse_session(peer, "another replay is running")
            return
        try:
            engine.replay(peer)
        except OlafError as error:
            print_error(error)  # the peer is gone: only the log is left
        finally:
            running.release()

    return replay


if __name__ == "__main__":
    serving_process.run_process(serve_twin)
