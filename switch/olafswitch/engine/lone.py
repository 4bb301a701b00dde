"""One P4 switch with real ports: any v1model program, served over P4Runtime."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import SOCK_SEQPACKET

from olafswitch.engine.device import EngineSwitch
from olafswitch.engine.engine import Engine
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.compiler import Program
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent import serve_devices
from olafswitch.ports import unix
from olafswitch.ports.offloads import describe_offloads
from olafswitch.ports.pcap import why_not_written
from olafswitch.ports.spec import PortSpec
from olafswitch.ports.tap import open_tap
from olafswitch.ports.transport import Transport

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoneSwitch:
    """A running switch: the address at which it serves P4Runtime, and the engine that moves its packets."""

    address: str
    engine: Engine


@contextmanager
def run_lone(
    program: Program | None,
    ports: Sequence[PortSpec],
    address: str,
    tls: Tls | None,
    device_id: int,
    cpu_port: int,
    others: Sequence[str] = (),
    *,
    as_bmv2: bool = False,
) -> Iterator[LoneSwitch]:
    """Yield a switch that runs ``program`` between ``ports`` at once, with its own entries.

    It is served over P4Runtime at ``address``, and at ``others``, of loopback, without TLS. Without a program
    it drops all packets until a client pushes one. ``as_bmv2`` elects primary controllers as BMv2 does.
    Raises BadInput for an address beyond loopback without TLS, OlafError when a port cannot be opened or the
    address cannot be bound.
    """
    with ExitStack() as stack:
        engine = Engine()
        stack.callback(engine.close)
        engine.wire_switch(cpu_port)
        switch = EngineSwitch(engine, 0, cpu_port)
        stack.callback(switch.close)
        agent = serve_devices({device_id: switch}, address, tls, others=others, as_bmv2=as_bmv2)
        stack.callback(agent.stop)
        if program is not None:
            agent.load_pipeline(device_id, program.p4info, program.device_config)
        for port in ports:
            _open_ports(engine, port)
            if port.transport is Transport.UNIX:
                stack.callback(Path(port.where).unlink, missing_ok=True)
            elif port.transport in (Transport.VETH, Transport.NIC) and (
                warning := describe_offloads(port.where)
            ):
                _log.warning("port %d (%s): %s", port.number, port.where, warning)
        engine.start()
        yield LoneSwitch(agent.address, engine)


def _open_ports(engine: Engine, port: PortSpec) -> None:
    try:
        match port.transport:
            case Transport.VETH | Transport.NIC:
                engine.add_interface(port.number, port.where)
            case Transport.TAP:
                engine.add_tap(port.number, open_tap(port.where))
            case Transport.UNIX:
                engine.add_socket(port.number, unix.listen_at(Path(port.where), SOCK_SEQPACKET))
            case Transport.PCAP:
                into, _, out = port.where.partition(",")
                if out and (reason := why_not_written(Path(out))):
                    raise OlafError(
                        Problem(
                            reason, f"--port {port.number}={port.transport}:{port.where}", "name another file"
                        )
                    )
                engine.add_pcap(port.number, Path(into) if into else None, Path(out) if out else None)
    except OSError as error:
        where = f"--port {port.number}={port.transport}:{port.where}"
        raise OlafError(Problem(f"cannot be opened: {error}", where)) from error
