"""The twin's process: ``python -m olafctl.targets.twin.process STATE``.

One native thread moves frames through all engines; Python serves P4Runtime for both blocks of each, and the
control socket.
"""

import socket
import threading
from dataclasses import replace
from pathlib import Path

import click

from olafctl import log
from olafctl.errors import OlafError
from olafctl.p4runtime import address as addresses
from olafctl.p4runtime.agent import serve
from olafctl.ports.transport import Transport
from olafctl.targets import deployment, main_thread, privileges
from olafctl.targets.control import ControlServer, TakeOver
from olafctl.targets.engine.device import EngineSwitch
from olafctl.targets.engine.engine import Engine
from olafctl.targets.processes import say_ready
from olafctl.targets.queue_control import handlers
from olafctl.targets.queue_process import SOCKET
from olafctl.targets.replay_stream import refuse
from olafctl.targets.twin.attach import attach, join, start
from olafctl.wire.layouts import CPU_PORT

GRPC_SOCKET = "p4runtime.sock"
_HANDOVER_SECONDS = 1.0


@click.command()
@click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--ready-fd", type=int)
def main(state: Path, ready_fd: int | None) -> None:
    """Run the twin deployed in STATE."""
    log.configure()
    recorded = deployment.load(state)
    if recorded is None:
        raise click.ClickException(f"{state} holds no deployment")
    made = any(port.transport in (Transport.VETH, Transport.TAP) for port in recorded.ports)
    privileges.keep(privileges.NEEDED | ({privileges.NAMESPACES} if made else set()))
    engine = Engine()
    try:
        engine.wire_twins([part.queue_library for part in recorded.engines])
        for twin, part in enumerate(recorded.engines):
            for number in part.ports:
                engine.own_port(number, twin)
        join(engine, recorded.links)
        for port in recorded.ports:
            attach(engine, port, state)
        switches = {
            device.device_id: EngineSwitch(engine, place, CPU_PORT)
            for place, device in enumerate(recorded.devices)
        }
        agent = serve(switches, addresses.of_socket(state.resolve() / GRPC_SOCKET))
        devices = [replace(device, address=agent.address) for device in recorded.devices]
        queues = {part.name: engine.registers(n) for n, part in enumerate(recorded.engines)}
        answers = handlers(engine, queues, recorded.all_ports, devices)
        control = ControlServer(state / SOCKET, answers, {"replay": _one_replay_at_a_time(engine)})
    except (OlafError, OSError) as error:
        raise click.ClickException(str(error)) from error
    start(engine, recorded.ports, state, steered=recorded.target != "software")

    def close() -> None:
        control.close()
        agent.stop()
        # Before the switches, for it cuts off a replay, which would keep them waiting.
        engine.close()
        for switch in switches.values():
            switch.close()

    main_thread.serve(lambda: say_ready(ready_fd, agent.address), close)


def _one_replay_at_a_time(engine: Engine) -> TakeOver:
    running = threading.Lock()

    def replay(peer: socket.socket) -> None:
        # One whose peer has just gone needs a moment to notice.
        if not running.acquire(timeout=_HANDOVER_SECONDS):
            refuse(peer, "another replay is running")
            return
        try:
            engine.replay(peer)
        except OlafError as error:
            print(error, flush=True)  # the peer is gone: only the log can be told
        finally:
            running.release()

    return replay


if __name__ == "__main__":
    main()
