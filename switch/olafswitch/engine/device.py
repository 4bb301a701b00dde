"""A compiled program whose packets an engine moves, as the data plane behind a P4Runtime agent."""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from olafswitch.engine.engine import Engine
from olafswitch.p4.switch.native import Handle, NativeSwitch

_Digest = tuple[int, Sequence[bytes]]


class EngineSwitch(NativeSwitch):
    """Device ``place`` of ``engine``: 0 is VNP4₁ or the only device, 1 is VNP4₂."""

    def __init__(self, engine: Engine, place: int, cpu_port: int) -> None:
        super().__init__(cpu_port, lanes=engine.lanes)
        self._engine = engine
        self._place = place
        self.on_commit(self._run)
        self.inject_with(self._packet_out)

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """See :meth:`olafswitch.p4runtime.dataplane.DataPlane.on_packet_in`."""
        self._engine.on_packet_in(self._place, receive)

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """See :meth:`olafswitch.p4runtime.dataplane.DataPlane.on_digest`.

        ``receive`` runs on its own thread: the thread that moves packets must never wait for a caller that
        waits for that thread.
        """
        waiting: SimpleQueue[_Digest] = SimpleQueue()

        def deliver() -> None:
            while True:
                receive(*waiting.get())

        threading.Thread(target=deliver, name="digests", daemon=True).start()
        super().on_digest(lambda digest_id, fields: waiting.put((digest_id, fields)))

    def _run(self, handle: Handle | None) -> None:
        if handle is None:
            self._engine.unset_switch(self._place)
        else:
            self._engine.set_switch(self._place, handle.process, handle.lanes)

    def _packet_out(self, port: int, frame: bytes) -> None:
        self._engine.packet_out(self._place, frame)
