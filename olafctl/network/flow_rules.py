"""Rules by which a network card gives each address' frames to one of its queues (``ethtool -N``)."""

import re
from collections.abc import Iterator, Mapping

from olafctl.network import ip
from olafswitch.errors import OlafError, Problem

_ETHTOOL = "ethtool"
_RULE = re.compile(
    r"Filter: (?P<place>\d+)\s+Rule Type: UDP over IPv4\s+Src IP addr: (?P<address>\S+) mask: 0\.0\.0\.0\s+"
    r"Dest IP addr: 0\.0\.0\.0 mask: 255\.255\.255\.255\s+TOS: 0x0 mask: 0xff\s+"
    r"Src port: 0 mask: 0xffff\s+Dest port: 0 mask: 0xffff\s+Action: Direct to queue (?P<queue>\d+)"
)


class FlowRules:
    """The rules of one card for the addresses that it was last given."""

    def __init__(self, card: str) -> None:
        self._card = card
        self._own: set[str] = set()
        self.state = "by its hash"
        """How the card chooses a queue for a frame, for people."""

    def give(self, queues: Mapping[str, int]) -> None:
        """Steer UDP from each address to its queue and all other frames by the card's hash, which also takes
        what the card or its driver accepts no rule for; ``state`` then has the reason."""
        try:
            if queues or self._own:
                self._change(queues)
            reason = ""
        except OlafError as error:
            reason = f", else by its hash: {error.problems[0].what}"
        self.state = f"by rules for {len(self._own)} of {len(queues)} workers{reason}"

    def _change(self, queues: Mapping[str, int]) -> None:
        if not ip.is_installed(_ETHTOOL):
            raise OlafError(Problem("the program `ethtool` is not installed", self._card))
        there = set()
        for place, address, queue in self._there():
            if queues.get(address) == queue:
                there.add(address)
            elif address in queues or address in self._own:
                ip.run_ip(["-N", self._card, "delete", place], program=_ETHTOOL)
        self._own = there
        for address in sorted(queues.keys() - there):
            rule = ["flow-type", "udp4", "src-ip", address, "action", str(queues[address])]
            ip.run_ip(["-N", self._card, *rule], program=_ETHTOOL)
            self._own.add(address)

    def _there(self) -> Iterator[tuple[str, str, int]]:
        """Yield the place, the address and the queue of each rule of the card."""
        for rule in _RULE.finditer(ip.read_output(["-n", self._card], _ETHTOOL)):
            yield rule["place"], rule["address"], int(rule["queue"])
