"""Blocks over links with a rate, and the store's protocol."""

import os
import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olafctl.network import interfaces
from olaflab.papers.artos import link
from olaflab.papers.artos.store import StoreClient
from olafswitch.errors import OlafError
from olafswitch.ports.namespace import HOME


def test_advantages_begin_before_the_observations_are_there() -> None:
    pytest.importorskip("zmq", reason="the extra [remote] is not installed")
    if why := interfaces.why_not():
        pytest.skip(why)
    from olaflab.papers.artos import ways
    from olaflab.papers.artos.over_link import start_pair

    rest = ways.BYTES / link.RATE
    with start_pair() as both:
        found = [both.carry_stages(0.02, 0.03, 1) for _ in range(2)]
    for each in found:
        assert 0 < each.begun < each.there < each.learnt
        assert each.there - each.begun > 0.8 * rest  # the link lets them by no faster
        assert each.learnt - each.there >= 0.03
    assert not list(HOME.glob(f"artos-{os.getpid()}-*"))


def test_links_without_permission_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interfaces, "why_not", lambda: "making interfaces needs root")
    with pytest.raises(OlafError, match=r"needs root \(run it with sudo\)"), link.make_machines("one"):
        pass


@pytest.fixture
def redis() -> Iterator[int]:
    """Provide a server that knows lists, by RESP 2 as Redis documents it; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve_lists, args=(listener,), daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
    thread.join(10)


def _serve_lists(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    kept: list[bytes] = []
    with connection, connection.makefile("rwb") as stream:
        while line := stream.readline():
            parts = []
            for _ in range(int(line[1:])):
                size = int(stream.readline()[1:])
                parts.append(stream.read(size))
                assert stream.read(2) == b"\r\n"
            if parts[0] == b"RPUSH" and parts[1] == b"blocks":
                kept.append(parts[2])
                stream.write(b":%d\r\n" % len(kept))
            elif parts[0] == b"BLPOP" and kept:
                block = kept.pop(0)
                stream.write(
                    b"*2\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(parts[1]), parts[1], len(block), block)
                )
            else:
                stream.write(b"-ERR no such list\r\n")
            stream.flush()


def test_blocks_return_in_order_and_a_stores_refusal_is_reported(redis: int) -> None:
    client = StoreClient("127.0.0.1", redis)
    blocks = np.random.default_rng(1).integers(0, 255, (2, 300, 7), np.uint8)
    for block in blocks:
        client.push_block(b"blocks", block)
    into = np.zeros((300, 7), np.uint8)
    for block in blocks:
        client.pop_block(b"blocks", into)
        assert (into == block).all()
    with pytest.raises(OlafError, match="ERR no such list"):
        client.push_block(b"other", blocks[0])
    client.close()
