"""Messages from the control plane to members: suspend or resume training, send a result to a member."""

import time
from contextlib import suppress

from olafctl.daemon.controller import Controller
from olafctl.daemon.messages import parsing
from olafctl.daemon.messages.parsing import MessageSender
from olafctl.membership.membership import Membership
from olafctl.membership.model import Cluster, Member, default_mac
from olafctl.membership.operations import of_segment
from olafctl.membership.rules import require_none
from olafctl.testbed.model import Testbed
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import Endpoint, Values
from olafswitch.errors import BadInput, OlafError, Problem


class Notices:
    """Messages to the members of one deployment's clusters, without confirmation."""

    def __init__(self, controller: Controller, testbed: Testbed) -> None:
        self._controller = controller
        self._testbed = testbed

    def send_halt(self, cluster: str, halted: bool, but: str = "") -> None:
        """Inform the cluster's members, except the member ``but``."""
        self._inform_members(ControlAction.HALT, {"halted": int(halted)}, cluster, but)

    def ask_for_help(self, cluster: str, segment: int, round_: int, asker: str) -> tuple[str, ...]:
        """Ask the other members to send ``asker`` the result of a round; return their names.

        Raises BadInput when the asker is not in the cluster, or the segment does not exist.
        """

        def find(membership: Membership) -> tuple[Cluster, Member]:
            known, member = membership.cluster(cluster), membership.member(asker)
            require_none(of_segment(known, segment))
            if member.cluster != known.name:
                what = f"{asker!r} is not in {known.name}"
                raise BadInput(Problem(what, "worker", "name one of its members"))
            return known, member

        known, member = self._controller.look(find)
        address = {"asker_addr": int(member.ip), "asker_port": member.udp_port}
        return self._inform_members(
            ControlAction.HELP, {"segment": segment, "round": round_, **address}, known.name, asker
        )

    def _inform_members(self, action: ControlAction, values: Values, name: str, but: str) -> tuple[str, ...]:
        cluster = self._controller.look(lambda membership: membership.clusters.get(name))
        if cluster is None:
            return ()
        members = [member for member in cluster.workers if member.name != but]
        for member in members:
            self._send_to_member(member, action, {**values, "nonce": time.time_ns()}, cluster.key)
        return tuple(member.name for member in members)

    def _send_to_member(self, member: Member, action: ControlAction, values: Values, key: str) -> None:
        address = self._testbed.root.address or self._testbed.parameter_servers[0].ip
        own = Endpoint(default_mac(address), address, self._testbed.udp_port)
        to = MessageSender(member.mac, member.ip, member.udp_port, front_port=member.port, own=own)
        frame = parsing.build_frame(action, values, key, to, self._testbed.control_tos)
        with suppress(OlafError):
            self._controller.southbound.send_frame(member.port, frame)
