"""Loopback TCP in front of UNIX sockets: the switches live where nothing else can reach them."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from olafctl.ports import unix

_CHUNK = 1 << 16


class Forwarder:
    """Forwards each of several loopback ports to a UNIX socket, on a thread of its own."""

    def __init__(self, targets: Sequence[Path]) -> None:
        """Listen; ``addresses`` then holds ``127.0.0.1:port`` in the order of ``targets``."""
        self.addresses: list[str] = []
        self._listening = threading.Event()
        threading.Thread(
            target=lambda: asyncio.run(self._serve(targets)), name="forwarder", daemon=True
        ).start()
        self._listening.wait()

    async def _serve(self, targets: Sequence[Path]) -> None:
        servers = [await self._listen(target) for target in targets]
        self.addresses = [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
        self._listening.set()
        await asyncio.gather(*(server.serve_forever() for server in servers))

    @staticmethod
    async def _listen(target: Path) -> asyncio.Server:
        async def forward(near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
            try:
                with unix.short(target) as name:
                    far_in, far_out = await asyncio.open_unix_connection(name)
            except OSError:
                near_out.close()
                return
            await asyncio.gather(_pump(near_in, far_out), _pump(far_in, near_out))
            far_out.close()
            near_out.close()

        return await asyncio.start_server(forward, "127.0.0.1", 0)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
        sink.write_eof()
