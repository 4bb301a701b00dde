"""Players that are inference engines: their own loader takes checkpoint tensors, on one rank or on several.

The rank that leads is the player; it gives each version's changed tensors to the others, so that an engine
has one socket however many ranks it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

import torch
import torch.distributed as dist

from olaf.errors import OlafError
from olaf.weights.modules import tensor_of
from olaf.weights.subscriber import Subscriber
from olaf.weights.tensors import Layout, State, Tensor

Named = list[tuple[str, torch.Tensor]]
"""Tensors by their names in the checkpoint, on the host."""


class Checkpoint:
    """The published tensors, which an engine loads and which cannot be read back from it."""

    leads = True

    def __init__(self, layout: Layout, load: Callable[[Named], object]) -> None:
        self.layout = layout
        self._load = load
        self._loaded: State = {}

    def read(self) -> State:
        """Return the state that was loaded last."""
        return self._loaded

    def require_writable(self) -> None:
        """Accept any: the engine's loader knows."""

    def write(self, state: State, tensors: list[Tensor]) -> None:
        """Load these tensors, under all of their names."""
        changed = {tensor.name: tensor_of(state, tensor) for tensor in tensors}
        names = {tensor.name: tensor.alias or tensor.name for tensor in self.layout.tensors}
        self._load([(name, changed[own]) for name, own in names.items() if own in changed])
        self._loaded = state


class EnginePlayer:
    """Adopts versions into an engine, on all of its ranks together."""

    def __init__(
        self, info: Mapping[str, Any], load: Callable[[Named], object], group: Any = None, whole: bool = False
    ) -> None:
        """Join, at the rank that leads.

        ``info``: ``where`` and ``layout`` (``Publisher.layout``); any of ``key``, ``max_lag``, ``local`` and
        ``epoch`` as of :class:`Subscriber`. ``load`` takes tensors by name. ``group``: the ranks of the
        engine, with a backend for tensors on the host. ``whole``: load every tensor of each version. Raises
        OlafError, OSError and OtherLayout.
        """
        options = dict(info)
        self._where, layout = str(options.pop("where")), Layout.of(str(options.pop("layout")))
        self._load, self._whole = load, whole
        self._ranks = group if group is not None and dist.get_world_size(group) > 1 else None
        self._player: Subscriber | None = None
        if self._ranks is None or dist.get_rank(group) == 0:
            self._player = Subscriber(self._where, Checkpoint(layout, self._share), **options)

    def adopt(self, version: int, seconds: float, line: int | None = None) -> int:
        """Load ``version`` or a newer one, awaited for so many seconds; its number, on every rank.

        ``line`` is the publisher's (``Publisher.line``); None: of any run. Raises OlafError where it does not
        arrive, and what ``adopt`` of a Subscriber raises.
        """
        if self._player is None:
            return self._follow()
        player, failed = self._player, True
        try:
            if not player.await_version(version, seconds, line):
                raise OlafError(f"version {version} has not come from {self._where} in {seconds:g} s")
            if self._whole:
                player.reinstall()
            player.adopt()
            failed = False
        finally:
            if self._ranks is not None:
                self._announce(None if failed else player.version)
        return player.version

    def close(self) -> None:
        """Leave; the engine keeps what it has."""
        if self._player is not None:
            self._player.close()

    def _share(self, tensors: Named) -> None:
        if self._ranks is not None:
            self._announce([(name, str(t.dtype).rpartition(".")[2], tuple(t.shape)) for name, t in tensors])
            for _, tensor in tensors:
                self._send(tensor)
        self._load(tensors)

    def _follow(self) -> int:
        while isinstance(message := self._announce(None), list):
            tensors = [
                (name, torch.empty(shape, dtype=getattr(torch, kind))) for name, kind, shape in message
            ]
            for _, tensor in tensors:
                self._send(tensor)
            self._load(tensors)
        if message is None:
            raise OlafError("the rank that leads could not adopt a version; its log says why")
        return int(message)

    def _announce(self, message: Any) -> Any:
        box = [message]
        dist.broadcast_object_list(box, group=self._ranks, group_src=0)
        return box[0]

    def _send(self, tensor: torch.Tensor) -> None:
        """Send a tensor to every rank as bytes: a backend need not know the type."""
        dist.broadcast(tensor.reshape(-1).view(torch.uint8), group=self._ranks, group_src=0)
