"""The card's host function over a network interface."""

import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import pytest

from olafctl.network import interfaces, ip, trial
from olafctl.targets.opennic.host import HostFunction
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE
from olafswitch.errors import OlafError
from olafswitch.ports import packet_socket
from olafswitch.ports.namespace import run_within

FRAME = bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big") + bytes(60)
SECONDS = 60.0
pytestmark = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


@pytest.fixture
def namespace() -> Iterator[str]:
    """Provide a namespace with a veth pair, ``card`` and ``host``."""
    with trial.trial_namespace() as name:
        ip.run_batch(
            ["-n", name],
            [
                "link add name card type veth peer name host",
                "link set dev card up",
                "link set dev host up",
            ],
        )
        yield name


def test_packet_ins_go_on_when_the_interface_is_up_again(namespace: str) -> None:
    came: SimpleQueue[bytes] = SimpleQueue()
    host = run_within(namespace, lambda: HostFunction.interface("host"))
    host.on_packet_in(came.put)
    with run_within(namespace, lambda: packet_socket.open_socket("card")) as card:
        card.send(FRAME)
        assert came.get(timeout=SECONDS) == FRAME[14:]
        ip.run_ip(["-n", namespace, "link", "set", "dev", "host", "down"])
        ip.run_ip(["-n", namespace, "link", "set", "dev", "host", "up"])
        until = time.monotonic() + SECONDS
        while True:
            card.send(FRAME)
            try:
                assert came.get(timeout=0.5) == FRAME[14:]
                break
            except Empty:
                assert time.monotonic() < until, "no packet-in came after the interface was up again"
    host.close()


def test_a_missing_interface_is_reported(namespace: str) -> None:
    with pytest.raises(
        OlafError, match=r"onic0s0: cannot be opened: No such device \(load the card's driver"
    ):
        run_within(namespace, lambda: HostFunction.interface("onic0s0"))
