"""The queue process of the bmv2 target: ``python -m olafctl.targets.bmv2.process STATE``.

Holds each engine's OlafQueue, the front ports, the links and the cables to the switches. These serve
P4Runtime themselves, at UNIX sockets in the state folder.
"""

from dataclasses import replace
from pathlib import Path

import click

from olafctl import log
from olafctl.errors import OlafError
from olafctl.p4runtime import address as addresses
from olafctl.ports.interfaces import cables_of
from olafctl.ports.namespace import within
from olafctl.targets import deployment, main_thread
from olafctl.targets.bmv2.wiring import Cable, cables
from olafctl.targets.control import ControlServer
from olafctl.targets.engine.engine import Engine
from olafctl.targets.processes import say_ready
from olafctl.targets.queue_control import handlers
from olafctl.targets.queue_process import SOCKET
from olafctl.targets.twin.attach import attach, join, start


def grpc_socket(state: Path, device_id: int) -> Path:
    """Where switch ``device_id`` serves P4Runtime."""
    return state / f"vnp4_{device_id}.grpc.sock"


@click.command()
@click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--ready-fd", type=int)
def main(state: Path, ready_fd: int | None) -> None:
    """Run the queue process of the deployment in STATE."""
    log.configure()
    recorded = deployment.load(state)
    if recorded is None:
        raise click.ClickException(f"{state} holds no deployment")
    engine = Engine()
    try:
        engine.wire_relay([part.queue_library for part in recorded.engines])
        join(engine, recorded.links)
        for cable in cables(recorded.engines):
            _plug(engine, cable, state)
        for port in recorded.ports:
            attach(engine, port, state)
        devices = [
            replace(device, address=addresses.of_socket(grpc_socket(state.resolve(), device.device_id)))
            for device in recorded.devices
        ]
        queues = {part.name: engine.registers(n) for n, part in enumerate(recorded.engines)}
        control = ControlServer(state / SOCKET, handlers(engine, queues, recorded.all_ports, devices), {})
    except (OlafError, OSError) as error:
        raise click.ClickException(str(error)) from error
    start(engine, recorded.ports, state)

    def close() -> None:
        control.close()
        engine.close()

    main_thread.serve(lambda: say_ready(ready_fd, [device.address for device in devices]), close)


def _plug(engine: Engine, cable: Cable, state: Path) -> None:
    within(cables_of(state), lambda: engine.add_own_interface(cable.relay_port, cable.pair.outer))


if __name__ == "__main__":
    main()
