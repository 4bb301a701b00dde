"""What the control plane tells members unasked: to suspend or resume training, and who needs a result."""

import time
from contextlib import suppress

from olafctl.daemon.controller import Controller
from olafctl.daemon.membership import Membership
from olafctl.daemon.messages import datagram
from olafctl.daemon.messages.datagram import Sender
from olafctl.daemon.model import Cluster, Member
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.testbed.hosts import default_mac
from olafctl.testbed.model import Testbed
from olafctl.wire.control import Action
from olafctl.wire.frames import Values


class Notices:
    """Sends to the members of one deployment's clusters; what is lost on the way is lost."""

    def __init__(self, controller: Controller, testbed: Testbed) -> None:
        self._controller = controller
        self._testbed = testbed

    def halt(self, cluster: str, halted: bool, but: str = "") -> None:
        """Tell the cluster's members, except the one of the name ``but``."""
        self._tell(Action.HALT, {"halted": int(halted)}, cluster, but)

    def help(self, cluster: str, segment: int, round_: int, asker: str) -> tuple[str, ...]:
        """Ask the other members to send ``asker`` the result of a round; returns who was asked.

        Raises BadInput when the asker is not in the cluster, or there is no such segment.
        """

        def find(membership: Membership) -> None:
            known = membership.cluster(cluster)
            if not 0 <= segment < known.segments:
                what = f"there is no segment {segment} of {cluster}"
                raise BadInput(Problem(what, "segment", f"its model has 0 … {known.segments - 1}"))
            member = membership.member(asker)
            if member.cluster != cluster:
                raise BadInput(Problem(f"{asker!r} is not in {cluster}", "worker", "name one of its members"))
            found.append(member)

        found: list[Member] = []
        self._controller.look(find)
        [member] = found
        address = {"asker_addr": int(member.ip), "asker_port": member.udp_port}
        return self._tell(Action.HELP, {"segment": segment, "round": round_, **address}, cluster, asker)

    def _tell(self, action: Action, values: Values, name: str, but: str) -> tuple[str, ...]:
        clusters: list[Cluster] = []
        members: list[Member] = []

        def find(membership: Membership) -> None:
            if name in membership.clusters:
                clusters.append(membership.clusters[name])
                members.extend(each for each in membership.members_of(name) if each.name != but)

        self._controller.look(find)
        for member in members:
            self._send(member, action, {**values, "nonce": time.time_ns()}, clusters[0].key)
        return tuple(member.name for member in members)

    def _send(self, member: Member, action: Action, values: Values, key: str) -> None:
        address = self._testbed.root.address or self._testbed.parameter_servers[0].ip
        to = Sender(
            port=member.port,
            mac=member.mac,
            ip=member.ip,
            udp_port=member.udp_port,
            own_mac=default_mac(address),
            own_ip=address,
            own_udp_port=self._testbed.udp_port,
        )
        frame = datagram.build(action, values, key, to, self._testbed.control_tos)
        with suppress(OlafError):
            self._controller.southbound.send(member.port, frame)
