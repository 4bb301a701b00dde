"""Find TCP ports for servers that tests start by number."""

import random
import socket
from contextlib import ExitStack

# Below Linux' ports for outgoing connections: no client takes one while its server is away.
_CHOICE = range(12_000, 32_000)


def find_free_tcp_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return ``count`` different ports of ``host`` that nothing listens at."""
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < count:
            port = random.choice(_CHOICE)
            try:
                held.enter_context(socket.create_server((host, port)))
            except OSError:
                continue
            ports.append(port)
    return ports
