"""The parameter server: receives updates, lets a policy move the weights, answers every update with them."""

from __future__ import annotations

import logging
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Callable

from olaf.errors import BadAddress, BadCheckpoint
from olaf.policies import POLICIES, Outcome, Policy, PolicyMaker, Update
from olaf.serial import TIME_BITS, VERSION_BITS, distance
from olaf.server import checkpoint as checkpoints
from olaf.server.introductions import Introductions
from olaf.server.model import RESERVED, Model, Served, ServerCounters
from olaf.transport import frames, wire
from olaf.transport.address import Cluster, host_port, parse
from olaf.transport.membership import Membership, is_control, key_of
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import Segments, Vector, finite, representable, stretches
from olaf.transport.udp import UdpPort

DEFAULT = "default"
"""The cluster of everyone, when no clusters are named."""
_LOG = logging.getLogger("olaf")
_ASK_AGAIN = 1.0
"""Seconds between two questions for the epoch."""
_TRY_AGAIN = 1.0
"""Seconds between a checkpoint that could not be written and the next try."""


class ParameterServer:
    """Serves every cluster that trains at this address, each with a model of its own."""

    def __init__(
        self,
        listen: str = f"0.0.0.0:{wire.UDP_PORT}",
        *,
        policy: str | PolicyMaker = "olaf",
        members: Mapping[str, str] | None = None,
        epochs: Mapping[str, int] | None = None,
        divisions: Mapping[str, int] | None = None,
        slot: int | None = None,
        initial: Mapping[str, tuple[Segments, Vector]] | None = None,
        checkpoint: str | Path | None = None,
        every: float = 30.0,
        multicast: bool = False,
        port: Port | None = None,
        cluster: str | None = None,
        key: str | None = None,
        wait: float = 10.0,
    ) -> None:
        """``policy`` is a name in POLICIES, with its defaults, or makes a policy from weights and segments.

        ``members`` maps a worker's IPv4 address to its cluster; other senders are ignored. Without it all
        belong to cluster "default". ``epochs`` are the clusters' job epochs, else 0. ``divisions`` tells into
        how many segments a cluster's model is divided, where an engine knows that: workers get it, and
        other divisions refused, and so are models of which a segment has more values than the engine's
        ``slot`` holds. ``initial`` gives clusters weights (values,) to begin with; others take the first
        worker's. ``checkpoint`` is a file, continued from if it exists, written every ``every`` seconds when
        something changed. ``multicast``: the network copies an ACK to all members of a cluster, as an
        engine does. ``port`` stands for a socket bound to ``listen``.

        With ``cluster``, as olaf://cluster@engine, it joins as that cluster's parameter server (``key`` as of
        a Worker) and serves it as cluster "default": the job's epoch is the control plane's, requested again
        when frames of another one come.

        Raises ValueError for an unknown policy, BadAddress, BadCheckpoint, OSError when the address cannot be
        bound or the checkpoint not read, and for a ``cluster`` JoinRefused, and NoAnswer after ``wait`` s.
        """
        if isinstance(policy, str) and policy not in POLICIES:
            raise ValueError(f"policy {policy!r} does not exist: take one of {', '.join(POLICIES)}")
        self._make: Callable[[Vector, Segments], Policy] = (
            POLICIES[policy] if isinstance(policy, str) else policy
        )
        self._members = members
        self._divisions = dict(divisions or {})
        self._checkpoint = None if checkpoint is None else Path(checkpoint)
        self._every, self._multicast = every, multicast
        self._save_due: float | None = None
        self._full_until = -math.inf
        """Before, a checkpoint that failed is not tried again because of versions that are used up."""
        self.garbage = 0
        """Datagrams that are not Olaf frames, or come from strangers."""
        names = {DEFAULT} if members is None else {*members.values(), *(epochs or {})}
        self._clusters = {name: Served((epochs or {}).get(name, 0)) for name in sorted(names)}
        for name, (segments, weights) in (initial or {}).items():
            self._clusters[name].model = Model(segments, weights, self._make)
        self._membership: Membership | None = None
        self._asked_at = -math.inf
        where = None if cluster is None else parse(cluster)
        if cluster is not None and not isinstance(where, Cluster):
            raise BadAddress(f"{cluster!r} names no cluster; write olaf://cluster@engine")
        self._reader, self._writer = frames.Reader(), frames.Writer()
        self._port: Port = port or UdpPort(host_port(listen))
        self._introductions = Introductions(self._port, self._make, slot)
        try:
            if isinstance(where, Cluster):
                self._join_cluster(where, key, wait)
            self._restore_models()
        except BaseException:
            self._port.close()
            raise
        self._port.serve(self)

    @property
    def address(self) -> Address:
        """Where the server listens."""
        return self._port.address

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of those that are served."""
        with self._port.lock:
            return tuple(self._clusters)

    def begin(self, cluster: str, epoch: int) -> None:
        """Begin a new job: forget weights and versions of the last one, and refuse its late frames.

        Raises KeyError for an unknown cluster.
        """
        with self._port.lock:
            old = self._clusters[cluster]
            self._clusters[cluster] = Served(epoch, counters=old.counters)

    def assign(
        self,
        members: Mapping[str, str],
        epochs: Mapping[str, int],
        divisions: Mapping[str, int] | None = None,
    ) -> None:
        """Serve the clusters of ``epochs`` from now on; ``members`` maps IPv4 addresses to clusters.

        A cluster that is new has no weights yet; one of another epoch begins again; one that is gone is
        forgotten.
        """
        with self._port.lock:
            self._members, self._divisions = dict(members), dict(divisions or {})
            for name, epoch in epochs.items():
                known = self._clusters.get(name)
                if known is None or known.epoch != epoch:
                    self._clusters[name] = Served(
                        epoch, counters=known.counters if known else ServerCounters()
                    )
            for name in self._clusters.keys() - epochs.keys():
                del self._clusters[name]

    def weights(self, cluster: str = DEFAULT) -> Vector | None:
        """Return the model's weights (values,), a copy; None when it has none yet. Raises KeyError."""
        with self._port.lock:
            model = self._clusters[cluster].model
            return None if model is None else model.policy.weights.copy()

    def versions(self, cluster: str = DEFAULT) -> list[int]:
        """Return each segment's version; empty without weights. Raises KeyError."""
        with self._port.lock:
            model = self._clusters[cluster].model
            return [] if model is None else list(model.versions)

    def counters(self, cluster: str = DEFAULT) -> ServerCounters:
        """Return counts of the cluster's frames. Raises KeyError."""
        return self._clusters[cluster].counters

    def age_of_model(self, cluster: str = DEFAULT) -> float | None:
        """Average Age-of-Model in seconds, by its oldest segment; None before all have been updated."""
        with self._port.lock:
            model = self._clusters[cluster].model
            average = None if model is None else model.age.average_age(self._monotonic_time())
            return None if average is None else average / 1e9

    def save(self) -> None:
        """Write the checkpoint now, if there is a place for one. Raises OSError."""
        with self._port.lock:
            self._write_checkpoint()

    def close(self) -> None:
        """Write a last checkpoint and give the socket back. Raises OSError when it cannot be written."""
        try:
            self.save()
        finally:
            self._port.close()

    def receive(self, run: Run, source: Address) -> None:
        """Receive updates, a worker's INITs, or answers of the control plane."""
        for piece in (run,) if len(run) == 1 else frames.together(run):
            self._receive_run(piece, source)

    def tick(self) -> float | None:
        """Let policies do what is due, and write due checkpoints."""
        now: float = self._port.now()
        due: list[float | None] = []
        for cluster in self._clusters.values():
            if cluster.model is None:
                continue
            dropped = cluster.model.policy.overflows.count
            moved = cluster.model.policy.tick(now)
            cluster.counters.overflowed += cluster.model.policy.overflows.count - dropped
            for segment in moved:
                alone = range(segment, segment + 1)
                self._answer_moved(cluster, cluster.model, alone)
                self._share_weights(cluster, cluster.model, alone, None)
            due.append(cluster.model.policy.due())
        if self._save_due is not None and now >= self._save_due:
            self._try_save()
        due.append(self._save_due)
        if self._membership is not None:
            due.append(self._membership.tick())
        return min((time for time in due if time is not None), default=None)

    def _join_cluster(self, where: Cluster, key: str | None, wait: float) -> None:
        secret = key_of(os.environ.get("OLAF_KEY", "") if key is None else key)
        self._membership = Membership(self._port, where, 0, wire.MemberRole.PARAMETER_SERVER, secret)
        self._clusters = {DEFAULT: Served(self._membership.admit(wait).epoch)}

    def _follow_membership(self) -> None:
        """Begin another job when the epoch has changed."""
        joined = None if self._membership is None else self._membership.joined
        if joined is not None and joined.epoch != self._clusters[DEFAULT].epoch:
            self.begin(DEFAULT, joined.epoch)

    def _ask_again(self) -> None:
        if self._membership is not None and self._port.now() >= self._asked_at + _ASK_AGAIN:
            self._asked_at = self._port.now()
            self._membership.join()

    def _restore_models(self) -> None:
        """Continue from the checkpoint, and write it again at once: other versions are used up now."""
        if self._checkpoint is None or not self._checkpoint.exists():
            return
        for name, (model, epoch) in checkpoints.load(self._checkpoint, self._make).items():
            if name not in self._clusters:
                raise BadCheckpoint(f"{self._checkpoint}: cluster {name!r} is not served here")
            if self._clusters[name].epoch == epoch:  # another epoch is another job: its weights stay out
                self._clusters[name].model = model
        self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        self._save_due = None
        if self._checkpoint is None:
            return
        models = {name: known.model for name, known in self._clusters.items() if known.model is not None}
        checkpoints.save(self._checkpoint, models, {n: c.epoch for n, c in self._clusters.items()})
        for name, model in models.items():
            self._clusters[name].saved = list(model.versions)

    def _receive_run(self, run: Run, source: Address) -> None:
        """Receive frames of neighbouring segments, one by one if anything is unusual."""
        if self._membership is not None and is_control(run.data):
            for datagram in run:
                self._membership.take(datagram)
            self._follow_membership()
            return
        name = DEFAULT if self._members is None else self._members.get(source[0])
        if name not in self._clusters:
            name = None
        try:
            header = wire.Olaf.unpack(run.data)
            values = self._reader.values(run, wire.OLAF_BYTES)
        except (struct.error, ValueError):
            if len(run) > 1:
                self._one_by_one(run, source)
            else:
                self.garbage += 1
            return
        if name is None or header.version != wire.VERSION:
            self.garbage += len(run)
            return
        cluster = self._clusters[name]
        if header.frame_type not in (wire.FrameType.UPDATE, wire.FrameType.INIT):
            self.garbage += len(run)
        elif header.epoch != cluster.epoch:
            cluster.counters.other_epoch += len(run)
            self._ask_again()
        elif len(run) > 1 and not self._are_usual(cluster, header, values, run):
            self._one_by_one(run, source)
        elif header.frame_type == wire.FrameType.INIT:
            init = wire.Init.unpack(run.data)
            self._introductions.take_introduction(cluster, init, values, source, self._divisions.get(name))
        else:
            self._apply_run(cluster, header, values, run, source)

    def _one_by_one(self, run: Run, source: Address) -> None:
        for datagram in run:
            self._receive_run(Run(datagram), source)

    def _are_usual(self, cluster: Served, header: wire.Olaf, values: Vector, run: Run) -> bool:
        """Return whether these are updates of segments that the model has, with finite values."""
        if cluster.model is None or header.frame_type != wire.FrameType.UPDATE:
            return False
        division = cluster.model.segments
        size = (run.size - wire.OLAF_BYTES) // 4
        return division.fit(header.segment, len(run), size, len(values)) and finite(values)

    def _apply_run(
        self, cluster: Served, header: wire.Olaf, values: Vector, run: Run, source: Address
    ) -> None:
        """Apply updates of neighbouring segments from the header's on; several are ``_usual`` ones."""
        counters, model, count = cluster.counters, cluster.model, len(run)
        counters.received += count
        counters.updates += header.count * count
        if model is None:
            counters.before_weights += 1
            self._introductions.answer_sender(cluster, header.segment, source)
            return
        if not model.segments.fit(header.segment, count, model.segments.size, len(values)):
            counters.unusable += 1
            self._introductions.answer_sender(cluster, header.segment, source)
            return
        segments = range(header.segment, header.segment + count)
        begin = segments.start * model.segments.size
        usable = header.count >= 1 and representable(header.reward)
        usable = usable and (count > 1 or finite(values))
        moved: list[range] = []
        for first, part in model.first(source, header.seq, segments):
            if not first:
                counters.duplicates += len(part)
            elif not usable:
                counters.unusable += len(part)
            else:
                own = values if part == segments else values[_shift_slice(model.segments.span(part), begin)]
                bases = (
                    [header.weights_version]
                    if count == 1
                    else frames.weights_versions(run.part(*_shift_range(part, segments)))
                )
                summed = bool(header.flags & wire.Flag.SUMMED)
                totals = model.staleness(part, bases, header.count, summed)
                counters.staleness.add(totals, header.count, summed)
                lags = totals if header.count == 1 else [total / header.count for total in totals]
                update = Update(own, header.count, header.reward, source, part, lags)
                moved += self._apply_update(cluster, model, update, header.gen_time)
        self._answer_member(cluster, model, segments, header, source)
        for part in moved:
            self._share_weights(cluster, model, part, source)

    def _apply_update(self, cluster: Served, model: Model, update: Update, gen_time: int) -> list[range]:
        """Hand an update to the policy; of which segments the weights moved."""
        counters, segments = cluster.counters, update.segments
        age = distance(self._port.wall(), gen_time, TIME_BITS)
        counters.clock_ahead += len(segments) if age < 0 else 0
        model.age.note_reception(self._monotonic_time(), segments.start, age, len(segments))
        moved, dropped = [], model.policy.overflows.count
        outcomes = model.policy.take(update, self._port.now())
        counters.overflowed += model.policy.overflows.count - dropped
        for outcome, part in outcomes:
            if outcome is Outcome.APPLIED:
                counters.applied += len(part)
                self._answer_moved(cluster, model, part)
                moved.append(part)
            elif outcome is Outcome.COLLECTED:
                counters.collected += len(part)
                for segment in part:
                    model.behind[segment][update.member] = None
            else:
                counters.refused += len(part)
        return moved

    def _answer_moved(self, cluster: Served, model: Model, segments: range) -> None:
        """Give new weights a new version, and hold back one that no checkpoint covers yet."""
        span = slice(segments.start, segments.stop)
        versions = model.versions[span]
        if versions.count(versions[0]) == len(versions):  # as nearly always
            model.versions[span] = [(versions[0] + 1) % (1 << VERSION_BITS)] * len(versions)
        else:
            model.versions[span] = [(version + 1) % (1 << VERSION_BITS) for version in versions]
        if self._checkpoint is None:
            return
        if self._save_due is None:
            self._save_due = self._port.now() + self._every
        pairs = zip(model.versions[span], cluster.saved[span])
        used = max((distance(now, saved, VERSION_BITS) for now, saved in pairs), default=RESERVED)
        if used >= RESERVED and self._port.now() >= self._full_until:
            self._try_save()

    def _try_save(self) -> None:
        try:
            self._write_checkpoint()
        except OSError as failure:  # a full disk must not stop the training
            _LOG.warning("the checkpoint %s could not be written: %s", self._checkpoint, failure)
            self._full_until = self._port.now() + _TRY_AGAIN
            self._save_due = self._port.now() + self._every

    def _answer_member(
        self, cluster: Served, model: Model, segments: range, header: wire.Olaf, to: Address
    ) -> None:
        """Answer with ACKs: the weights and their versions; count, seq, reward and time are the update's."""
        answer = wire.Olaf(
            wire.VERSION,
            wire.FrameType.ACK,
            cluster.epoch,
            0,
            header.count,
            header.seq,
            header.reward,
            header.gen_time,
            segments.start,
            0,
        )
        versions = model.versions[segments.start : segments.stop]
        self._port.send_run(to, self._writer.run(answer, versions, model.blocks(segments)))

    def _share_weights(self, cluster: Served, model: Model, segments: range, sender: Address | None) -> None:
        """Give the new weights to the other contributors; an engine does that with the ACK that one got."""
        behind = model.behind[segments.start : segments.stop]
        if not any(behind):
            return
        for members, part in stretches([tuple(known) for known in behind], segments.start):
            waiting = [member for member in members if member != sender]
            for segment in part:
                model.behind[segment].clear()
            if self._multicast:
                waiting = [] if sender else waiting[:1]
            now = self._port.wall() % (1 << TIME_BITS)
            header = wire.Olaf(wire.VERSION, wire.FrameType.ACK, cluster.epoch, 0, 0, 0, 0.0, now, 0, 0)
            for member in waiting:
                self._answer_member(cluster, model, part, header, member)

    def _monotonic_time(self) -> int:
        return round(self._port.now() * 1e9)


def _shift_range(part: range, segments: range) -> tuple[int, int]:
    return part.start - segments.start, part.stop - segments.start


def _shift_slice(place: slice, begin: int) -> slice:
    return slice(place.start - begin, place.stop - begin)
