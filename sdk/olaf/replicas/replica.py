"""Asynchronous training without a server (iSwitch §4, algorithm 1): what a training script holds.

Two threads share the weights: the script's computes gradients from a copy and commits them, the port's
applies a step as soon as the sum of every segment is here. The engine adds up whatever comes until H
contributions are in and sends the sum, numbered, to all members. All apply the same sums in the order of
their numbers, so their weights stay equal bit for bit; what is lost is had from other members (``gaps``),
and a member that joins, or comes back, has everything from one of them (``joining``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Callable

import numpy as np

from olaf.errors import NoAnswer, OlafError
from olaf.guards import Dropped, as_number
from olaf.replicas.commits import MOST_STALENESS, CommitCounters, Commits
from olaf.replicas.gaps import GapCounters
from olaf.replicas.group import Group, MemberState
from olaf.replicas.joining import Joining
from olaf.replicas.member import Member, MemberCounters
from olaf.replicas.trained import Trained, digest
from olaf.transport import wire
from olaf.transport.address import Cluster, host_port, parse
from olaf.transport.membership import Membership, key_of
from olaf.transport.pieces import Giver
from olaf.transport.port import Address, Port
from olaf.transport.segments import STANDARD_MTU, Segments, Vector, finite
from olaf.transport.udp import open_port

_MOST_WANTED = 65535
_LEAVES = 3
"""Last words, because no answer is waited for."""


class Replica:
    """One member of a training, on a port of its own."""

    def __init__(
        self,
        server: str,
        trained: Trained,
        *,
        peers: Sequence[str | Address] = (),
        members: int | None = None,
        h: int | None = None,
        staleness: int = 3,
        until: int | None = None,
        mtu: int = STANDARD_MTU,
        segments: int | None = None,
        local: str | None = None,
        epoch: int = 0,
        key: str | None = None,
        wait: float = 10.0,
        limit: float = 600.0,
        stepped: Callable[[], object] = lambda: None,
        port: Port | None = None,
    ) -> None:
        """``server`` is the address that contributions go to, or ``olaf://cluster@engine`` to join there.

        ``peers`` are the other members' addresses; in a cluster they may be found by asking. ``members`` is
        how many may take part (else as many as are named), ``h`` the engine's H (else what a Join says, or
        ``members``), ``staleness`` S. No more than ``until`` steps are applied. ``epoch`` and ``segments``
        are for a fixed address. After ``limit`` seconds without a result that this member waits for, it
        fails. ``stepped`` is called after every step, snapshot and failure, under the port's lock.

        Raises ValueError for an S, H or model that cannot be; BadAddress; JoinRefused and NoAnswer (after
        ``wait`` s) for a cluster; OSError when ``local`` cannot be bound.
        """
        where = parse(server)
        others = [host_port(peer) if isinstance(peer, str) else peer for peer in peers]
        count = len(others) + 1 if members is None else members
        check(count, h, staleness)
        self._port = port or open_port(local, where)
        self._membership: Membership | None = None
        try:
            address, founder = self._find_server(where, len(trained.weights), key, h, wait)
            if self._membership is not None and self._membership.joined is not None:
                joined = self._membership.joined
                epoch, segments, h = joined.epoch, joined.segments, h or joined.threshold
            wanted = h or count
            check(count, wanted, staleness)
            values = len(trained.weights)
            self.segments = Segments(values, segments) if segments else Segments.of(values, mtu)
            own = self._port.reachable(address)
        except BaseException:
            self._port.close()
            raise
        if founder is None:
            founder = all(own <= other for other in others)
        manifest = [f"{self.segments.count} segments of {values} values", *trained.manifest]
        group = Group(self._port, own, others, digest(manifest))
        giving = Giver(self._port, mtu, manifest)
        offering = Commits(self._port, address, self.segments, staleness)
        offering.epoch = epoch
        joining = Joining(self._port, group, count, founder)
        self._member = Member(
            self._port,
            address,
            trained,
            group,
            offering,
            joining,
            giving,
            manifest,
            wanted,
            until,
            limit,
            stepped,
            self._membership,
        )
        self._port.serve(self._member)

    def _find_server(
        self, where: Address | Cluster, values: int, key: str | None, h: int | None, wait: float
    ) -> tuple[Address, bool | None]:
        """Return where contributions go, and in a cluster whether this member founds the training."""
        if not isinstance(where, Cluster):
            return where, None
        secret = key_of(os.environ.get("OLAF_KEY", "") if key is None else key)
        self._membership = Membership(self._port, where, values, wire.MemberRole.WORKER, secret)
        joined = self._membership.admit(wait)
        if h is not None and h != joined.threshold:
            self._membership.set_threshold(h, wait)
        return joined.server, joined.member == 0

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held, no step is applied."""
        return self._port.lock

    @property
    def version(self) -> int:
        """Steps applied."""
        return self._member.ledger.version

    @property
    def joined(self) -> bool:
        """Whether this member has all that the others have."""
        return self._member.joined

    @property
    def failure(self) -> OlafError | None:
        """The error that ended the training here."""
        return self._member.failure

    @property
    def ready(self) -> bool:
        """Whether a gradient may be committed now."""
        return self.joined and self._member.commits.room and not self.done and self.failure is None

    @property
    def done(self) -> bool:
        """Whether ``until`` steps have been applied."""
        return self._member.done

    @property
    def counters(self) -> MemberCounters:
        """Counts of received frames, and of the ways results came."""
        return self._member.counters

    @property
    def gaps(self) -> GapCounters:
        """Counts of missing results."""
        return self._member.gaps.counters

    @property
    def commits(self) -> CommitCounters:
        """Counts of contributions and their staleness."""
        return self._member.commits.counters

    @property
    def level(self) -> bool:
        """Whether all members that answer are known to have the same results."""
        return self._member.level

    @property
    def served(self) -> int:
        """Snapshots made for others."""
        return self._member.giver.served

    def weights(self) -> tuple[int, Vector]:
        """Return version and weights (n,), a copy: what the next gradient is to be computed from."""
        with self._port.lock:
            return self.version, self._member.trained.weights

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Block until the condition holds; False after ``seconds``. Raises what ended the training."""
        self._port.wait(lambda: until() or self.failure is not None, seconds)
        if self.failure is not None:
            raise self.failure
        return until()

    def begin(self, seconds: float) -> None:
        """Block until this member has what the others have. Raises NoAnswer after ``seconds``, and
        JoinRefused.
        """
        if not self.wait(lambda: self.joined, seconds):
            raise NoAnswer(
                f"no member of the training answered in {seconds:g} s, or too few to found it: it begins "
                "when more than half of all members are there, the one with the lowest address among them"
            )

    def commit(self, gradient: Vector, version: int, reward: float = 0.0) -> bool:
        """Contribute a gradient (n,) computed from the weights of ``version``; whether it was committed.

        One that is older than S steps is not, nor one when S + 1 were committed since the last step: wait
        until ``ready``. Nor is one with numbers that binary32 cannot hold. Raises ValueError for another
        length, and what ended the training.
        """
        if gradient.shape != (self.segments.values,):
            raise ValueError(f"a gradient of shape {gradient.shape} for a model of {self.segments.values}")
        usable = finite(gradient)
        with self._port.lock:
            if self.failure is not None:
                raise self.failure
            lag, offering = self.version - version, self._member.commits
            if not usable:
                if not offering.counters.broken:
                    Dropped("gradients").add()
                offering.counters.broken += 1
                return False
            # A version that is not there yet was one of results that were found to be others.
            if not self.joined or self.done or lag < 0 or not offering.admits(lag):
                return False
            if not self._member.gaps.halted:
                values = np.asarray(gradient, np.float32)
                offering.add_commit(
                    values, version, lag, as_number(reward), self._member.ledger.segments_ahead()
                )
        self._port.wake()
        return True

    def linger(self, seconds: float) -> bool:
        """Block until all members that answer have the same results; False after ``seconds``.

        They may need some that only this member has, or this one some of theirs.
        """
        return self._port.wait(lambda: self.level, seconds)

    def close(self) -> None:
        """Leave, and give the socket back."""
        group = self._member.group
        with self._port.lock:
            if self.failure is None:
                group.me.state = MemberState.LEFT
            for _ in range(_LEAVES):
                group.tell_members(group.addresses)
        if self._membership is not None:
            self._membership.leave()
        self._port.close()


def check(members: int, h: int | None, staleness: int) -> None:
    """Refuse an S or H that cannot be. Raises ValueError."""
    if not 0 <= staleness <= MOST_STALENESS:
        raise ValueError(f"the staleness bound S must be 0 … {MOST_STALENESS}, not {staleness}")
    if h is not None and not 1 <= h <= _MOST_WANTED:
        raise ValueError(f"H must be 1 … {_MOST_WANTED}, not {h}")
    most = members * (staleness + 1)
    if h is not None and h > most:
        raise ValueError(
            f"H is {h}, but {members} members make at most {most} contributions between two results with a "
            f"staleness bound of {staleness}: no result would ever come"
        )
