"""Attach front ports and links to an engine, and start it."""

import logging
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from olafctl.network import interfaces, steering
from olafctl.targets.deployment import EnginePart
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.targets.front_ports import FrontPort
from olafctl.testbed.model import TestbedLink
from olafswitch.errors import OlafError, Problem
from olafswitch.ports import unix
from olafswitch.ports.tap import open_tap
from olafswitch.ports.transport import Transport

ENGINE_CPU = "OLAF_ENGINE_CPU"
"""The environment variable with the processor of the engine's first thread; the next ones follow."""
_log = logging.getLogger(__name__)


def wire_engine(engine: PipelineEngine, parts: Sequence[EnginePart], links: Sequence[TestbedLink]) -> None:
    """Give ``engine`` the queues and ports of ``parts``, and the links between them. Raises OlafError."""
    engine.wire_twins([part.queue_library for part in parts])
    own_ports(engine, parts)
    join_links(engine, links)


def own_ports(engine: PipelineEngine, parts: Sequence[EnginePart]) -> None:
    """Give each of ``parts`` its ports. Raises OlafError."""
    for twin, part in enumerate(parts):
        for number in part.ports:
            engine.own_port(number, twin)


def join_links(engine: PipelineEngine, links: Sequence[TestbedLink]) -> None:
    """Give ``engine`` the links between its ports."""
    for link in links:
        assert link.peer is not None
        engine.link(link.port, link.peer, rate=link.rate, delay=link.delay, queue=link.queue)


def attach_port(engine: PipelineEngine, port: FrontPort, state: Path) -> None:
    """Open ``port`` of the deployment in ``state`` and give it to ``engine``.

    Raises OlafError.
    """
    _log.debug("port %d: %s %s", port.number, port.transport, port.inner)
    try:
        match port.transport:
            case Transport.VETH if port.impair is not None:
                engine.add_interface(port.number, port.inner)
            case Transport.VETH:
                engine.add_own_interface(port.number, port.inner)
            case Transport.NIC:
                engine.add_own_interface(port.number, port.inner, nic=True)
            case Transport.TAP:
                engine.add_tap(port.number, open_tap(port.inner))
                interfaces.adopt_interface(state, port.inner, port.outer.path)
            case Transport.UNIX:
                engine.add_socket(port.number, unix.listen_at(Path(port.inner), socket.SOCK_SEQPACKET))
            case Transport.PCAP:
                into, out = port.files
                engine.add_pcap(port.number, Path(into), Path(out))
    except OSError as error:
        raise OlafError(
            Problem(f"cannot be opened: {error}", f"port {port.number} ({port.transport} {port.inner})")
        ) from error


def receive_for_hosts(ports: Sequence[FrontPort], state: Path) -> None:
    """Let the engine's own thread receive for the hosts at these ports: a fast queue would wake another
    processor for each frame."""
    if names := [port.outer.path for port in ports if port.transport is Transport.VETH]:
        steering.receive_on(None, interfaces.namespace_of(state), names, state)


def start_engine(
    engine: PipelineEngine, ports: Sequence[FrontPort], state: Path, steered: bool = True
) -> None:
    """Start ``engine`` of the deployment in ``state``; if ``steered``, off the processor that receives for
    its hosts."""
    veths = any(port.transport is Transport.VETH for port in ports)
    receiver = interfaces.receiver_of(state) if veths and steered else None
    own = os.environ.get(ENGINE_CPU)
    processors = {int(own) + lane for lane in range(engine.lanes)} if own else set()
    with steering.keep_on(processors) if processors else steering.keep_off(receiver):
        engine.start()
