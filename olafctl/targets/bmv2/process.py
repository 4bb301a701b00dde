"""The queue process of the bmv2 target: ``python -m olafctl.targets.bmv2.process STATE``.

It has each engine's OlafQueue, the front ports, the links and the cables to the switches. The switches serve
P4Runtime themselves, at UNIX sockets in the state folder.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from olafctl.network.claims import Claims
from olafctl.network.interfaces import cables_of
from olafctl.targets import deployment, serving_process
from olafctl.targets.bmv2.wiring import make_cables
from olafctl.targets.control import ControlServer
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.targets.queue_control import make_handlers
from olafctl.targets.queue_process import SOCKET
from olafctl.targets.twin.attach import attach_port, join_links, start_engine
from olafswitch.p4runtime import address as addresses
from olafswitch.ports.namespace import run_within


def grpc_socket(state: Path, device_id: int) -> Path:
    """Return the socket at which switch ``device_id`` serves P4Runtime."""
    return state / f"vnp4_{device_id}.grpc.sock"


@contextmanager
def serve_queues(state: Path) -> Iterator[list[str]]:
    """Serve the queues deployed in ``state`` and yield their switches' addresses. Raises OlafError or
    OSError.

    Raises OlafError or OSError."""
    recorded = deployment.require_deployment(state)
    with closing(PipelineEngine()) as engine:
        engine.wire_relay([part.queue_library for part in recorded.engines])
        join_links(engine, recorded.links)
        for cable in make_cables(recorded.engines):
            run_within(
                cables_of(state), partial(engine.add_own_interface, cable.relay_port, cable.pair.outer)
            )
        claims = Claims()
        claims.take(name for port in recorded.ports for name in port.claims)
        for port in recorded.ports:
            attach_port(engine, port, state)
        devices = [
            replace(device, address=addresses.of_socket(grpc_socket(state.resolve(), device.device_id)))
            for device in recorded.devices
        ]
        queues = {part.name: engine.registers(n) for n, part in enumerate(recorded.engines)}

        def carriers() -> dict[str, bool]:
            found = {str(port.number): port.has_carrier for port in recorded.ports}
            return {number: up for number, up in found.items() if up is not None}

        answers = make_handlers(engine, queues, recorded.all_ports, devices, carriers)
        with closing(ControlServer(state / SOCKET, answers, {})):
            start_engine(engine, recorded.ports, state)
            yield [device.address for device in devices]


if __name__ == "__main__":
    serving_process.run_process(serve_queues)
