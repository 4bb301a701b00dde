"""The player's end: versions of the weights arrive in the background; the player installs them.

``adopt`` installs the newest version that is whole and checked, at a safe point of the player's loop;
nothing else ever touches its model. It requests lost frames after a random pause.
"""

from __future__ import annotations

import hmac
import logging
import zlib
from collections import Counter
from random import Random
from typing import Any

from olaf.errors import OlafError
from olaf.transport import wire
from olaf.transport.address import Cluster, host_port, parse
from olaf.transport.membership import is_control
from olaf.transport.pieces import Giver, Taker, What
from olaf.transport.port import Address, Port, Run
from olaf.weights.codecs import Digest
from olaf.weights.inbox import Inbox, Staged
from olaf.weights.issues import HEADERS, Frame, manifest_bytes, manifest_mac
from olaf.weights.issues import parse_frame as parse_frame
from olaf.weights.models import Adopted, SafetensorsFile, Source, model_of, module_of
from olaf.weights.place import compute_mac, open_member, pack_want, place_of, require_arguments
from olaf.weights.tensors import Layout, OtherLayout, Tensor, same_values

_REPORT = 1.0
"""Seconds between two reports."""
_BACKOFF = 0.02
"""Seconds, at most, of the random pause before it requests what is missing."""
_QUIET, _LATEST = 0.05, 0.5
"""Seconds without a frame of an issue after which the rest counts as lost, at first and at most."""
_SLOWER, _FASTER = 1.1, 0.8
"""What a frame that came alone and twice does to that time, and a version that was committed."""
_RETRY, _LONGEST = 0.1, 1.0
"""Seconds until it requests frames again, at first and at most."""
_SILENT = 10.0
"""Seconds without a frame after which the lag is not known: the publisher repeats itself each 0.25 s."""
_WARNED = 3.0
"""Seconds without a frame after which the log names the cause."""
_BEHIND = 32
"""Versions by which a copy that is being given may be behind."""
_MOST_GIVEN = 1 << 32
"""Bytes of which a piece's header can say that they are the whole."""
_SWEEP = 16
"""Versions between two checks of what is installed, against what was committed."""
_LOG = logging.getLogger("olaf")


class TooStale(OlafError):
    """The newest version that could be adopted is older than the player allows."""


class Subscriber:
    """Receives the versions of one model of this process, and installs the newest one on ``adopt``."""

    def __init__(
        self,
        where: str,
        model: Source,
        *,
        dtype: str | None = None,
        max_lag: int | None = None,
        key: str | None = None,
        local: str | None = None,
        epoch: int = 0,
        peer: str | None = None,
        port: Port | None = None,
    ) -> None:
        """Join as a player.

        ``where``: ``olaf://cluster@engine``, or the publisher's address. ``model``, ``dtype``: as the
        publisher's. ``max_lag``: versions that what is played may be behind the newest; None: any number.
        ``epoch``: the testbed's, at a fixed address. ``peer``: another player's address, which gives this one
        its first version; the publisher does where that one is silent. Raises OlafError, OSError,
        OtherLayout, and ValueError for a bad argument.
        """
        destination = parse(where)
        require_arguments(max_lag=max_lag, epoch=epoch)
        self._model = model_of(model, dtype)
        self._model.require_writable()
        self._max_lag = max_lag
        self._port = open_member(local, destination) if port is None else port
        try:
            self._place = place_of(destination, key, wire.MemberRole.PLAYER, self._port, epoch)
        except BaseException:
            self._port.close()
            raise
        self._joined = isinstance(destination, Cluster)
        self.publisher: Address = self._place.server or ("0.0.0.0", 0)
        self._own = self._port.reachable(self.publisher)
        self._set_layout(self._model.layout)
        self._giver = Giver(self._port, self._port.mtu(self.publisher), [])
        self._taker: Taker | None = None
        if peer is not None:
            self._taker = Taker(self._port, What.SNAPSHOT, host_port(peer), self._sealed)
        self.version = 0
        """The installed version; 0 before the first."""
        self._run = 0
        """The publisher's run that the installed version is of, as the inbox numbers them."""
        self._when = 0
        self._closed = False
        if isinstance(self._model, SafetensorsFile) and self._model.adopted:
            self._inbox.resume_from(self._model.adopted, self._model.read())
            _, self.version, self._when = self._model.adopted
        self._adopting = False
        self._swept = 0
        self._random = Random(zlib.crc32(repr(self._own).encode()))
        self._got = self._lost = 0
        self._heard = self._port.now()
        self._warned = False
        self._refused_last = ""
        """Why frames are refused, in words, until one is not."""
        self._quiet = _QUIET
        self._report_due = 0.0
        self._want_due = float("inf")
        """When to request what leads on, if nothing on its way does."""
        self._tries = 0
        self.refusal: str | None = None
        """Why this player can never adopt what is published, if so."""
        self._port.serve(self)

    def _set_layout(self, layout: Layout) -> None:
        """Begin with nothing received, of a model of this layout."""
        self._inbox = Inbox(layout, Digest(self._place.key))
        self._tensors = {w: [t for t in layout.own if t.width == w and t.count] for w in layout.counts}

    def adopt(self) -> int | None:
        """Install the newest version that is whole and checked; its number, None where that is installed.

        Call it where the model is not in use. Raises TooStale where the publisher is more than ``max_lag``
        versions ahead of what is installed then, OtherLayout where it publishes another model or the model
        does not compute with what was installed, and RuntimeError after ``close``.
        """
        if self._closed:
            raise RuntimeError("this player is closed; make another Subscriber")
        with self._port.lock:
            if self.refusal:
                raise OtherLayout(self.refusal)
            inbox = self._inbox
            dirty = self._chosen() if self._newer else None
            self._adopting, version, when, run = True, inbox.have, inbox.when, inbox.run
            if isinstance(self._model, SafetensorsFile):
                self._model.adopted = Adopted(inbox.line, version, when)
        try:
            if dirty is not None:
                self._install(version, dirty)
        finally:
            with self._port.lock:
                self._adopting = False
        if dirty is not None:
            self.version, self._when, self._run = version, when, run
        self._port.wake()
        self._check_lag()
        return version if dirty is not None else None

    def wait(self, seconds: float) -> bool:
        """Block until a version is there that ``adopt`` would install; whether one is."""
        return self._port.wait(lambda: self._newer, seconds)

    def await_version(self, version: int, seconds: float, line: int | None = None) -> bool:
        """Block until ``version`` or a newer one is there, or none can be; False where the time is up.

        ``line`` is the publisher's: one that came back may give the number to other weights.
        """

        def there() -> bool:
            known = line in (None, self._inbox.line) and self._inbox.have >= version
            return known or self.refusal is not None

        return self._port.wait(there, seconds)

    @property
    def _newer(self) -> bool:
        """Whether what is committed is not what is installed: another number, or another run's."""
        inbox = self._inbox
        return inbox.have > 0 and (inbox.run, inbox.have) != (self._run, self.version)

    def reinstall(self) -> None:
        """Install every tensor with the next version."""
        with self._port.lock:
            self._inbox.all_dirty()

    @property
    def have(self) -> int:
        """The version that ``adopt`` would install, or has installed; 0 for none."""
        return self._inbox.have

    @property
    def lag(self) -> int:
        """Versions that what is installed is behind the newest published one; all of them, where what is
        installed is of an earlier run of the publisher."""
        return max(self._inbox.published - self._installed, 0)

    @property
    def _installed(self) -> int:
        """The installed version, if it is of the publisher's present run."""
        return self.version if self._run == self._inbox.run else 0

    @property
    def age(self) -> float:
        """Seconds since what is installed was published, by both machines' wall clocks; infinite for none."""
        return (self._port.wall() - self._when) % 2**48 / 1e9 if self.version else float("inf")

    @property
    def counts(self) -> Counter[str]:
        """Frames that were refused, by reason; versions that were committed."""
        return self._inbox.counts

    def close(self) -> None:
        """Leave; the model stays as it is."""
        if self._closed:
            return
        self._closed = True
        self._place.leave()
        self._port.close()

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _publisher_name(self) -> str:
        return f"{self.publisher[0]}:{self.publisher[1]}"

    def _check_lag(self) -> None:
        if self._max_lag is None:
            return
        behind = f"version {self.version} is installed" if self.version else "nothing is installed"
        if self.version and self._run != self._inbox.run:
            behind = f"version {self.version} of an earlier run is installed"
        if self.lag > self._max_lag:
            raise TooStale(
                f"{behind} and version {self._inbox.published} is published, more than {self._max_lag} "
                "ahead: wait for newer weights before playing on, or give a larger max_lag"
            )
        if self._port.now() - self._heard > _SILENT:
            raise TooStale(f"{behind} and {self._silence()}")

    def _silence(self) -> str:
        """Say that the publisher is silent, and why."""
        silent = f"nothing came from {self._publisher_name} for {self._port.now() - self._heard:.0f} s: "
        if self._refused_last:
            return silent + self._refused_last
        if self.version:
            return silent + "check that it and the engine run"
        own = "" if self._joined else f", that the engine knows this player as {self._own[0]}:{self._own[1]}"
        return silent + f"check that it runs there and has published{own}, and that both have the same key"

    def _chosen(self) -> list[Tensor]:
        """List the tensors that changed since they were installed; all, where that is in doubt."""
        inbox = self._inbox
        if self.version and inbox.counts["committed"] - self._swept >= _SWEEP:
            self._swept = inbox.counts["committed"]
            self._sweep(inbox)
        chosen = [
            tensor for width, tensors in self._tensors.items()
            for tensor, dirty in zip(tensors, inbox.dirty[width]) if dirty
        ]  # fmt: skip
        return chosen

    def _sweep(self, inbox: Inbox) -> None:
        """Hold what is installed against what was committed, and that against its digest."""
        if not inbox.check_digest():
            _LOG.warning("the committed weights changed in memory; all of them are requested")
        installed = self._model.read()
        for width, tensors in self._tensors.items():
            for tensor, dirty in zip(tensors, inbox.dirty[width]):
                here, there = installed[width][tensor.place], inbox.state[width][tensor.place]
                if not dirty and not same_values(tensor, here, there):
                    inbox.counts["overwritten"] += 1
                    inbox.all_dirty()
                    _LOG.warning(
                        "%s changed outside of adopt(); all tensors are installed again", tensor.name
                    )
                    return

    def _install(self, version: int, tensors: list[Tensor]) -> None:
        """Install tensors; all are in doubt until all of them are written."""
        inbox = self._inbox
        unwritten, inbox_dirty = True, inbox.dirty
        try:
            self._model.write(inbox.state, tensors)
            unwritten = False
        finally:
            if unwritten:
                inbox.all_dirty()
                self.version = 0
                inbox.counts["unwritten"] += 1
            else:
                for marks in inbox_dirty.values():
                    marks[:] = False

    # Party

    def receive(self, run: Run, source: Address) -> None:
        """Receive frames of the publisher, of the control plane, and of other players."""
        for datagram in run:
            if is_control(datagram):
                if datagram[0] == wire.Talk.FETCH:
                    self._give(datagram, source)
                elif datagram[0] == wire.Talk.PIECE:
                    self._take(datagram, source)
                else:
                    self._place.take(datagram)
            elif source != self.publisher:
                self.counts["source"] += 1
                self._refused_last = (
                    f"frames come from {source[0]}:{source[1]}; start the publisher at the address that "
                    "players are given, or give them that one"
                )
            else:
                self._frame(datagram)

    def tick(self) -> float | None:
        """Commit what is whole, ask for what is missing, report."""
        now = self._port.now()
        if not self._adopting and self._inbox.commit_ready():
            self._quiet = max(self._quiet * _FASTER, _QUIET)
            self._report_due = min(self._report_due, now + self._random.random() * _BACKOFF)
        dues = [self._ask(now)]
        if now - self._heard > _WARNED and not self._warned and not self.refusal:
            self._warned = True
            _LOG.warning("%s", self._silence())
        if now >= self._report_due:
            self._say(self._inbox.newest, self._inbox.newest, [])
            self._report_due = now + _REPORT
        return min(*dues, self._report_due)

    def _sealed(self, message: bytes) -> bytes:
        return message + compute_mac(message, self._place.key, self._own)

    def _give(self, datagram: memoryview, source: Address) -> None:
        """Give another player what it asks for of the committed version."""
        message, given = bytes(datagram[: wire.FETCH_BYTES]), datagram[wire.FETCH_BYTES :]
        inbox = self._inbox
        if not hmac.compare_digest(given, compute_mac(message, self._place.key, source)):
            self.counts["fetch"] += 1
        elif inbox.proof and not inbox.broken and inbox.size < _MOST_GIVEN:
            good = inbox.have - _BEHIND
            self._giver.give_pieces(
                memoryview(message), source, True, lambda version: version > good,
                lambda: (inbox.have, inbox.whole()),
            )  # fmt: skip

    def _take(self, datagram: memoryview, source: Address) -> None:
        """Take a piece of another player's version."""
        if self._taker is None or len(datagram) < wire.PIECE_BYTES:
            return
        whole = self._taker.take_piece(datagram, source)
        if whole is None:
            return
        self._taker = None
        end = HEADERS + manifest_bytes(self._model.layout)
        try:
            frame = parse_frame(memoryview(whole)[:end])
            reason = self._refused(frame)
        except ValueError:
            reason = "frame"
        if reason is None and frame.delta.codec == wire.Codec.MANIFEST and not self._inbox.have:
            self._inbox.stage_whole(frame, memoryview(whole)[end:])
        else:
            self.counts[reason or "frame"] += 1

    def _frame(self, datagram: memoryview) -> None:
        try:
            frame = parse_frame(datagram)
        except ValueError:
            self.counts["frame"] += 1
            return
        if (reason := self._refused(frame)) is not None:
            self.counts[reason] += 1
            self._refused_last = {
                "mac": "its manifests have another MAC; give both ends the same key, or none",
                "epoch": f"its frames are of epoch {frame.olaf.epoch}, this player's is {self._place.epoch}",
                "line": "its frames are of an earlier run; set its machine's clock",
            }.get(reason, self._refused_last)
            return
        inbox = self._inbox
        now = self._heard = self._port.now()
        self._warned, self._refused_last = False, ""
        if frame.delta.codec == wire.Codec.MANIFEST:
            self.refusal = None
            inbox.take_manifest(frame)
        staged = inbox.stage_frame(frame)
        if staged is None:
            if frame.olaf.frame_type == wire.FrameType.INIT:  # to this one alone: it was requested too early
                self._quiet = min(self._quiet * _SLOWER, _LATEST)
            return
        self._got += 1
        staged.ended |= frame.olaf.seq == staged.count - 1
        lost = staged.ended and not staged.tries
        staged.due = now + (self._random.random() * _BACKOFF if lost else self._quiet)
        for other in inbox.staged.values():
            if other.version < staged.version and not other.ended:
                other.ended, other.due = True, now + self._random.random() * _BACKOFF

    def _refused(self, frame: Frame) -> str | None:
        """Say why a frame does not count, or None."""
        inbox, delta = self._inbox, frame.delta
        if frame.olaf.epoch != self._place.epoch:
            return "epoch"
        last = frame.olaf.seq == delta.frames - 1
        if (delta.codec == wire.Codec.MANIFEST) != last or frame.olaf.segment:
            return "frame"
        if delta.line != inbox.line and not (last and inbox.newer_line(delta.line)):
            return "line"
        if not last:
            return None
        if len(frame.payload) < wire.MANIFEST_BYTES:
            return "frame"
        manifest = wire.Manifest.unpack(frame.payload)
        if manifest.mac != manifest_mac(memoryview(frame.raw), self._place.key, self._place.epoch):
            return "mac"
        if manifest.layout != self._model.layout.digest and not self._takes_variant(manifest.layout):
            where = self._model.layout.name_difference(bytes(frame.payload[wire.MANIFEST_BYTES :]))
            self.refusal = (
                f"{self._publisher_name} publishes other tensors: {where}; give both ends the same model and "
                "the same dtype"
            )
            return "layout"
        return None

    def _takes_variant(self, digest: bytes) -> bool:
        """Use the publisher's name of a tensor for tied ones that have several; return whether that fits."""
        layout = next((one for one in self._model.layout.tied_variants() if one.digest == digest), None)
        if layout is None or self.version:
            return False
        self._model.layout = layout
        self._set_layout(layout)
        return True

    def _ask(self, now: float) -> float:
        """Ask for what is missing and due; returns when to look again."""
        inbox = self._inbox
        if self._taker is not None and (inbox.have or self._taker.silent):
            self._taker = None
        if self._taker is not None:
            return self._taker.tick(now)
        if self._adopting or inbox.have >= inbox.newest:
            self._want_due, self._tries = float("inf"), 0
            return float("inf")
        path = inbox.find_path()
        if path:
            self._want_due, self._tries = float("inf"), 0
            return self._ask_for([one for one in path if not one.whole], now)
        if self._want_due == float("inf"):
            self._want_due = now + self._random.random() * _BACKOFF
        if now >= self._want_due:
            self._say(inbox.newest, inbox.newest, [(0, 1)])
            self._want_due = now + self._pause(self._tries)
            self._tries += 1
        return self._want_due

    def _ask_for(self, issues: list[Staged], now: float) -> float:
        for staged in issues:
            if now >= staged.due:
                missing = staged.missing_ranges()
                if not staged.tries:
                    self._lost += sum(count for _, count in missing)
                self._say(staged.version, staged.base, missing)
                staged.due = now + self._pause(staged.tries)
                staged.tries += 1
        return min((staged.due for staged in issues), default=float("inf"))

    def _pause(self, tries: int) -> float:
        return min(max(_RETRY, 2 * self._quiet) * 2.0**tries, _LONGEST) * (1 + self._random.random() / 4)

    def _say(self, version: int, base: int, ranges: list[tuple[int, int]]) -> None:
        inbox = self._inbox
        have = 0 if inbox.broken else inbox.have
        want = wire.Want(
            wire.WANT_ACTION, inbox.decodes, 0, inbox.line, have, self._installed, version, base, self._got,
            self._lost, bytes(wire.MAC_BYTES),
        )  # fmt: skip
        self._got = self._lost = 0
        self._port.send(self.publisher, pack_want(want, ranges, self._place.key, self._own))


def adopt_into(model: Any, where: str, **options: Any) -> Subscriber:
    """Make a player of the torch module that ``model`` is or holds; ``options`` as of ``olaf.Subscriber``.

    A module (CleanRL's agent), an algorithm of Stable-Baselines3 (its ``policy``), or an algorithm, learner
    or runner of RLlib (its ``get_module()``, or its ``module``). Raises OtherLayout where it holds none.
    """
    return Subscriber(where, module_of(model), **options)
