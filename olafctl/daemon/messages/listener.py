"""Answer control messages: check their senders, ask the controller for the changes, and send ACKs.

A message that names no cluster is about the cluster of the member at its source address. It changes nothing
unless the key of its cluster authenticates it, and it came in by the front port of that address. Its nonce is
stored in the same step as its change, so that the daemon distinguishes a repetition from a replay after a
restart, too.

Anybody can send such messages, from any number of addresses. For this reason the cheapest checks come first,
each front port has its turn, and the answers to a port's refused messages are limited.
"""

import logging
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from ipaddress import IPv4Address

from olafctl.control.desired import MEMBER_NUMBERS
from olafctl.daemon.admission import Admission
from olafctl.daemon.ages import Reported
from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.controller import Controller
from olafctl.daemon.messages import nonces, parsing
from olafctl.daemon.messages.nonces import Freshness, Nonces
from olafctl.daemon.messages.notices import Notices
from olafctl.daemon.messages.parsing import Message, MessageSender, NotUnderstood, Refused, reason_of
from olafctl.daemon.messages.shares import Rates, Turns
from olafctl.daemon.messages.summary import Summary
from olafctl.daemon.operate.audit import AuditLog
from olafctl.membership import limits
from olafctl.membership.membership import Change, Membership
from olafctl.membership.model import Cluster, Kind, Member, Row
from olafctl.membership.operations import MemberWish, Operation, Operations, Planned, combine_operations
from olafctl.queue.registers import Command
from olafctl.testbed.model import Testbed
from olafctl.wire.control import ALL_SEGMENTS, NOT_KNOWN, ControlAction, MemberRole, Reason
from olafctl.wire.frames import Values
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError

_log = logging.getLogger(__name__)
_TIMEOUT = 0.2
_PER_SECOND, _BURST = 20, 100
_PORT_PER_SECOND, _PORT_BURST = 200, 500
"""Limits of a port: a valid message takes some milliseconds; forged ones must leave time for valid ones."""
_REFUSED_PER_SECOND, _REFUSED_BURST = 20, 200
"""Limits of the answers to refused messages by port: an answer costs more than the check of a message."""
_KINDS: dict[int, Kind] = {
    MemberRole.WORKER: Kind.WORKER,
    MemberRole.SWITCH: Kind.SWITCH,
    MemberRole.PLAYER: Kind.PLAYER,
}
_SOURCES = 4096
_ROUNDS = 1024
_HELP_SECONDS = 10.0
"""A member that lacks a result asks again at least every few seconds, so it is never silent for this long."""


class MessageListener:
    """The answers to one deployment's control messages: a thread for each engine that hands them over sorts
    them by port, and one thread processes them."""

    def __init__(
        self,
        controller: Controller,
        admission: Admission,
        operations: Operations,
        notices: Notices,
        testbed: Testbed,
        lease: float,
        clock: Callable[[], float] = time.monotonic,
        audit: AuditLog | None = None,
    ) -> None:
        """Start; a member that joins by message is removed after ``lease`` seconds of silence; 0: never.
        ``audit`` records each authentic message."""
        self.counts: Counter[str] = Counter()
        """Messages by outcome: ``ok``, the reason of a refusal, ``flooded``, ``malformed``, ``busy``."""
        self.players: Reported[olaf_pb2.Player] = Reported()
        """Player messages of the API by member, as their publishers last reported."""
        hosts = (*testbed.parameter_servers, *testbed.hosts, testbed.engine_host)
        self._places = {host.ip: host for host in hosts if host is not None}
        """The hosts that are not members, by their addresses."""
        self._controller = controller
        self._admission = admission
        self._operations = operations
        self._notices = notices
        self._testbed = testbed
        self._lease = lease
        self._audit = audit
        self._sources = Rates(_PER_SECOND, _BURST, _SOURCES)
        self._ports = Rates(_PORT_PER_SECOND, _PORT_BURST, len(testbed.ports))
        self._refusals = Rates(_REFUSED_PER_SECOND, _REFUSED_BURST, len(testbed.ports))
        self._turns = Turns(_PORT_BURST)
        self._summary = Summary(testbed.name)
        self._nonces = Nonces(controller.look)
        self._term = controller.term
        self._outcomes: OrderedDict[tuple[str, IPv4Address], Reason | None] = OrderedDict()
        """The outcome of the newest message by cluster and source; None while the message is in progress."""
        self._newest: dict[tuple[str, IPv4Address], int] = {}
        """The nonce of the newest report by cluster and publisher."""
        self._clock = clock
        self._asked: OrderedDict[tuple[str, int, int], dict[str, float]] = OrderedDict()
        """For each cluster, segment and round, the members that asked for help, and when each last did."""
        self._counting = threading.Lock()
        self._ended = threading.Event()
        name = f"messages {testbed.name}"
        self._threads = [
            threading.Thread(target=self._hear_all, args=(engine.name,), name=name, daemon=True)
            for engine in testbed.engines
        ]
        self._threads.append(threading.Thread(target=self._take_all, name=name, daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _hear_all(self, engine: str) -> None:
        while not self._ended.is_set():
            seen = False
            with suppress(OlafError):
                for packet in self._controller.southbound.receive_packets(engine, _TIMEOUT):
                    seen = True
                    self.hear_frame(packet.metadata["ingress_port"], packet.payload)
                    if self._ended.is_set():
                        return
            if not seen:
                self._ended.wait(_TIMEOUT)

    def hear_frame(self, port: int, frame: bytes) -> None:
        """Queue a frame from VNP4₁ until its port has its turn, or drop it when too many came before."""
        # A frame that its source may not send does not count for the port, which others may share.
        allowed = self._sources.allows_message((port, frame[26:30])) and self._ports.allows_message(port)
        if not (allowed and self._turns.put(port, frame)):
            self._count_dropped(port, "flooded")

    def _take_all(self) -> None:
        while not self._ended.is_set():
            waiting = self._turns.take_message(_TIMEOUT)
            if waiting is not None:
                self.take_message(*waiting)
            self._summary.log_counts()

    def take_message(self, port: int, frame: bytes) -> None:
        """Parse one frame, and carry out or refuse its message."""
        if self._term != self._controller.term:
            # Another controller may have led in the meantime: only the stored nonces count.
            self._term = self._controller.term
            self._nonces = Nonces(self._controller.look)
            self._outcomes.clear()
        try:
            message = parsing.parse_frame(port, frame)
        except NotUnderstood as error:
            self._count_dropped(port, "malformed")
            if error.sender is not None and self._refusals.allows_message(port):
                self._send_answer(error.sender, 0, 0, Reason.BAD_MESSAGE, None, {})
            return
        if message.action is ControlAction.ACK:
            self._count_dropped(port, "malformed")
            return
        cluster: Cluster | None = None
        try:
            cluster, there = self._find_sender(message)
            if message.action is ControlAction.REPORT:
                self._record_report(message, cluster)
                return
            self._act_on_message(message, cluster, there)
        except Refused as error:
            self._refuse_message(message, cluster, error)
        except OlafError:
            self._count_dropped(port, "busy")  # the member asks again

    def _count_dropped(self, port: int, why: str) -> None:
        with self._counting:
            self.counts[why] += 1
        self._summary.add_message(port, why)

    def _find_sender(self, message: Message) -> tuple[Cluster, Member | None]:
        """Return the cluster of a message, and the member at its source address. Raises Refused."""

        def find(membership: Membership) -> tuple[Cluster, Member | None]:
            member = membership.at(message.sender.ip)
            if "cluster" in message.values:
                name = message.cluster
            elif member is not None:
                name = member.cluster
            else:
                raise Refused(Reason.NOT_A_MEMBER, "is not a member")
            if name not in membership.clusters:
                raise Refused(Reason.UNKNOWN_CLUSTER, f"cluster {name!r} does not exist")
            return membership.clusters[name], member

        return self._controller.look(find)

    def _check_sender(self, message: Message, cluster: Cluster, there: Member | None) -> None:
        """Raise Refused unless the sender may send messages about the cluster."""
        if not cluster.key and not cluster.open and not self._is_listed(message, cluster):
            raise Refused(Reason.BAD_MAC, "the cluster has no key and is not open")
        if cluster.key and not message.is_authentic(cluster.key):
            raise Refused(Reason.BAD_MAC, "is not authentic")
        # All members know the key, so the port has to distinguish them.
        known = there or self._places.get(message.sender.ip)
        if known is not None and known.port != message.sender.front_port:
            raise Refused(Reason.NOT_A_MEMBER, f"is the address of {known.name}, not behind this port")

    def _is_listed(self, message: Message, cluster: Cluster) -> bool:
        """Return whether this is the testbed's own player, at its address and ports, or its publisher:
        without a key they may ask for what the testbed says already, which changes nothing."""
        players = [each for each in cluster.workers if each.kind is Kind.PLAYER]
        if message.action not in (ControlAction.JOIN, ControlAction.REPORT) or not players:
            return False
        sender = message.sender
        publishers = ((each.ip, each.port) for each in self._testbed.parameter_servers)
        return (sender.ip, sender.front_port) in publishers or any(
            (each.ip, each.udp_port, each.port) == (sender.ip, sender.port, sender.front_port)
            for each in players
        )

    def _record_report(self, message: Message, cluster: Cluster) -> None:
        """Record the state of a publisher's player; store and answer nothing. Raises Refused."""
        self._check_sender(message, cluster, None)
        sender, values = message.sender.ip, message.values
        if sender not in {server.ip for server in self._testbed.parameter_servers}:
            raise Refused(Reason.NOT_A_MEMBER, "is not the address of a publisher")
        if values["nonce"] <= self._newest.get((cluster.name, sender), -1):
            raise Refused(Reason.OLD_NONCE, "was replayed, or its sender's clock is behind what it was")
        self._newest[cluster.name, sender] = values["nonce"]
        address = IPv4Address(values["player_addr"])
        name = next((each.name for each in cluster.workers if each.ip == address), str(address))
        player = olaf_pb2.Player(
            worker=name, cluster=cluster.name, version=values["version"], lag=values["lag"],
            slow=bool(values["state"] & 1), dead=bool(values["state"] & 2),
        )  # fmt: skip
        if values["age"] != NOT_KNOWN:
            player.age = values["age"] / 1000
        self.players.put({name: player})
        with self._counting:
            self.counts["ok"] += 1

    def _act_on_message(self, message: Message, cluster: Cluster, there: Member | None) -> None:
        self._check_sender(message, cluster, there)
        if message.sender.ip in limits.BETWEEN_ENGINES:
            raise Refused(Reason.NOT_A_MEMBER, "is an address that only engines have")
        member = there if there is not None and there.cluster == cluster.name else None
        name, source, nonce = cluster.name, message.sender.ip, message.values["nonce"]
        freshness = self._nonces.judge_nonce(name, source, nonce)
        if freshness is Freshness.OLD:
            raise Refused(Reason.OLD_NONCE, "was replayed, or its sender's clock is behind what it was")
        if freshness is Freshness.AHEAD:
            raise Refused(Reason.CLOCK_AHEAD, "is of a clock more than an hour ahead of this one")
        if freshness is Freshness.REPEATED:
            self._repeat_answer(message, name)
            return
        operation = self._operation_of(message, cluster, member)
        leaves = message.action is ControlAction.LEAVE
        row = nonces.key_of_nonce(name, source)
        stored: Change = {row: {"last": nonce}}
        if leaves and not cluster.key:
            stored = {row: None}
        elif leaves and member is None:
            stored = {}  # anybody may say so, any number of times

        def answer(done: "Future[Row]") -> None:
            error = done.exception()
            if self._audit is not None:
                request = {"deployment": self._testbed.name, "cluster": name}
                outcome = "ok" if error is None else str(error)[:500]
                self._audit.append(str(source), message.action.name, outcome, request=request)
            if error is None:
                self._outcomes[name, source] = Reason.OK
                self._forward_message(message, cluster, member)
                self._accept_message(message, name)
            elif isinstance(error, OlafError):
                if cluster.key:
                    who = f"{message.action.name} of {message.sender.ip}"
                    _log.info("%s: refused %s: %s", self._testbed.name, who, error)
                self._store_refusal(message, cluster, error)

        future = self._admission.submit(combine_operations(operation, stored))
        self._nonces.use_nonce(name, source, nonce)
        self._outcomes[name, source] = None
        while len(self._outcomes) > _SOURCES:
            self._outcomes.popitem(last=False)
        future.add_done_callback(answer)

    def _store_refusal(self, message: Message, cluster: Cluster, error: OlafError) -> None:
        """Answer a refused message once its refusal is stored: a restart does not admit its replay."""
        place = cluster.name, message.sender.ip
        row: Change = {
            nonces.key_of_nonce(*place): {"last": message.values["nonce"], "reason": reason_of(error)}
        }

        def refuse(_: object = None) -> None:
            self._outcomes[place] = self._refuse_message(message, cluster, error)

        if cluster.key and isinstance(error, BadInput):
            with suppress(OlafError):
                self._controller.submit(lambda _: Planned(row, {})).add_done_callback(refuse)
                return
        refuse()

    def _repeat_answer(self, message: Message, name: str) -> None:
        """Send the answer to a message again, or nothing while the message is in progress."""
        source = message.sender.ip
        # Nonce and change are stored in one step: a message whose nonce alone is known was carried out.
        outcome = self._outcomes.get((name, source), self._nonces.stored_outcome(name, source))
        if outcome is Reason.OK:
            self._accept_message(message, name)
        elif outcome is not None:
            raise Refused(outcome, "was refused before")

    def _operation_of(self, message: Message, cluster: Cluster, member: Member | None) -> Operation:
        """Return the change that a message asks for. Raises Refused."""
        values, name = message.values, cluster.name
        if message.action is ControlAction.JOIN:
            if not cluster.key and not cluster.open:
                return lambda membership: Planned({}, {})  # the player is listed in the testbed
            return self._plan_join(message, cluster)
        if message.action is ControlAction.LEAVE and member is None:
            return lambda membership: Planned({}, {})  # a sender that is not a member has left
        if member is None:
            raise Refused(Reason.NOT_A_MEMBER, "is not a member")
        segment = None if values.get("segment") == ALL_SEGMENTS else values.get("segment")
        match message.action:
            case ControlAction.LEAVE:
                return self._operations.leave(member.name)
            case ControlAction.RESET:
                return self._operations.command(Command.RESET, name, segment)
            case ControlAction.FBCAST:
                return self._operations.command(Command.FBCAST, name, segment)
            case ControlAction.SET_H:
                return self._operations.set_threshold(name, values["threshold"])
            case ControlAction.HALT:
                return self._operations.set_halted(name, values["halted"] != 0)
            case ControlAction.HELP:
                return self._record_help(message, cluster, member)
        raise Refused(Reason.BAD_MESSAGE, f"{message.action.name} asks for nothing")

    def _plan_join(self, message: Message, cluster: Cluster) -> Operation:
        sender, values = message.sender, message.values
        if values["role"] == MemberRole.PARAMETER_SERVER:
            if sender.ip not in {server.ip for server in self._testbed.parameter_servers}:
                raise Refused(Reason.BAD_MESSAGE, "is not a parameter server of the testbed")
            return lambda membership: Planned({}, {})  # the member is known; it asks for the job's epoch
        kind = _KINDS.get(values["role"])
        if kind is None:
            raise Refused(Reason.BAD_MESSAGE, f"role {values['role']} does not exist")
        wish = MemberWish(
            cluster=cluster.name,
            ip=sender.ip,
            port=sender.front_port,
            udp_port=sender.port,
            mac=sender.mac,
            kind=kind,
            values=values["values"],
            lease=self._lease,
        )
        return self._operations.join(wish)

    def _record_help(self, message: Message, cluster: Cluster, member: Member) -> Operation:
        """Record that a member lacks a round's result. When all lack it, no member can send it to the others,
        so the index begins the round again. Requests older than ``_HELP_SECONDS`` do not count.

        A numbered result is never made again: its members agree among themselves to go on without it.
        """
        if self._testbed.mode_of(cluster) is Mode.ISWITCH_ASYNC:
            return lambda membership: Planned({}, {})
        segment, number = message.values["segment"], message.values["round"]
        key = (cluster.name, segment, number)
        now = self._clock()
        requests = self._asked.setdefault(key, {})
        requests[member.name] = now
        self._asked.move_to_end(key)
        while len(self._asked) > _ROUNDS:
            self._asked.popitem(last=False)

        def check(membership: Membership) -> Planned:
            members = membership.clusters[cluster.name].workers if cluster.name in membership.clusters else ()
            if any(requests.get(each.name, -math.inf) < now - _HELP_SECONDS for each in members):
                return Planned({}, {})
            self._asked.pop(key, None)
            return self._operations.command(Command.RESET, cluster.name, segment)(membership)

        return check

    # Answers

    def _accept_message(self, message: Message, name: str) -> None:
        with self._counting:
            self.counts["ok"] += 1
        cluster = self._controller.look(lambda membership: membership.clusters.get(name))
        values: Values = {}
        if cluster is not None:
            values = {"epoch": cluster.epoch, "threshold": cluster.h, "segments": cluster.segments}
            values |= self._server_address(cluster)
            for member in cluster.workers:
                if member.ip == message.sender.ip:
                    values["member"] = member.number % MEMBER_NUMBERS
        self._send_answer(message.sender, message.action, message.values["nonce"], Reason.OK, cluster, values)

    def _refuse_message(self, message: Message, cluster: Cluster | None, error: OlafError) -> Reason:
        """Answer with the reason of a refusal, unless its port had too many answers. Return the reason."""
        reason = reason_of(error)
        self._count_dropped(message.sender.front_port, reason.name.lower())
        if not self._refusals.allows_message(message.sender.front_port):
            return reason
        # A sender that does not know the key gets nothing that is made with the key.
        known = None if reason is Reason.BAD_MAC else cluster
        self._send_answer(message.sender, message.action, message.values["nonce"], reason, known, {})
        return reason

    def _send_answer(
        self,
        to: MessageSender,
        answered: int,
        nonce: int,
        reason: Reason,
        cluster: Cluster | None,
        more: Values,
    ) -> None:
        values = {"answered": answered, "reason": reason, "nonce": nonce, **more}
        key = cluster.key if cluster is not None else ""
        frame = parsing.build_frame(ControlAction.ACK, values, key, to, self._testbed.control_tos)
        with suppress(OlafError):
            self._controller.southbound.send_frame(to.front_port, frame)

    def _server_address(self, cluster: Cluster) -> Values:
        """Return the address and UDP port to which the cluster's members send their updates."""
        if self._testbed.mode_of(cluster).sums and self._testbed.root.address is not None:
            return {"server_addr": int(self._testbed.root.address), "server_port": self._testbed.udp_port}
        for server in self._testbed.parameter_servers:
            return {"server_addr": int(server.ip), "server_port": server.udp_port}
        return {}

    def _forward_message(self, message: Message, cluster: Cluster, sender: Member | None) -> None:
        """Pass a Help or a Halt on to the other members."""
        if sender is None:
            return
        values = message.values
        if message.action is ControlAction.HALT:
            self._notices.send_halt(cluster.name, values["halted"] != 0, but=sender.name)
        elif message.action is ControlAction.HELP:
            with suppress(BadInput):  # the member left meanwhile
                self._notices.ask_for_help(cluster.name, values["segment"], values["round"], sender.name)
