"""The asynchronous door: any torch optimiser, with its weights exchanged after its steps (OLAF §2.1).

What is sent is where training has moved the weights since they were last sent, divided by γ, so that the
server's w ← w + γ·g moves its weights as far. Between two steps, weights that have arrived are adopted. They
cannot have what is offered at this moment, nor what was held back, so both are kept on top: w ← w_server +
γ·(held + g). What was offered earlier is taken to be in them; where it is still on its way, it is back with a
later ACK. The optimiser's own state (momentum, Adam's moments) stays: it belongs to single coordinates, and
blocks are adopted as they arrive.

After an outage of the server or the engine, in which this program has trained alone, it goes on from its own
weights for some exchanges, and offers a share of the way from the server's weights to them in each. Members
that do so at the same time meet at the mean of their weights: what they learnt is not lost, and does not add
up.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal, Union, overload

import numpy as np
import torch

from olaf.errors import OtherParameters, Taken
from olaf.guards import as_number
from olaf.policies import RATE
from olaf.torch import flat
from olaf.torch.replicated import Replicated, trained
from olaf.transport.address import Cluster, parse
from olaf.transport.port import Address
from olaf.transport.segments import Vector, finite, representable
from olaf.worker import Worker

Optimizers = Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer]]

_SHARE, _SHARES = 0.125, 40
"""After an outage: a share of the way to this program's weights, and how many. 40 of them leave 0.5 %."""
_TO_BEGIN, _TO_FIND = 5.0, 60.0
"""Seconds to wait for a server's weights, and for the other members."""
_attached: dict[tuple[Address | Cluster, str | None], Link] = {}
"""Links by server and ``local``: two at one address would be one worker to the engine and the server."""
os.register_at_fork(after_in_child=_attached.clear)


class Link:
    """The connection of optimisers, which train one model together, to a parameter server."""

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        worker: Worker,
        every: int | None,
        rate: float,
        wait: float,
    ) -> None:
        """As ``attach``."""
        self.worker = worker
        self._optimizers = optimizers
        self._parameters = trained(optimizers)
        self._narrow = any(torch.finfo(parameter.dtype).bits < 32 for parameter in self._parameters)
        """Whether writing to the parameters rounds binary32."""
        self._wide = any(torch.finfo(parameter.dtype).bits > 32 for parameter in self._parameters)
        self._every, self._rate = every, np.float32(rate)
        self._steps = 0
        self._reward = -math.inf
        self._base = flat.read(self._parameters)
        """Weights up to which everything was offered."""
        self._moved = np.empty_like(self._base)
        """Memory that each exchange uses again."""
        self._outages = 0
        """Outages of the worker that this link has seen end."""
        self._shares = 0
        """Shares of what was learnt in the last one that are still to be offered."""
        self._reach = self._base
        """How far this program has moved in it."""
        self._begun = False
        worker.begin(self._base)
        if wait and not worker.wait(wait):
            warnings.warn(
                f"{wait:g} s brought no answer from the parameter server, or not all weights; training "
                "begins alone and joins later",
                stacklevel=3,
            )
        self._begin_training()
        # Not traced where the script compiles its step. (An optimiser has imported the compiler already.)
        self._hook = optimizers[-1].register_step_post_hook(torch.compiler.disable(self._after_step))

    def reward(self, value: float) -> None:
        """Set the mean episode reward, once an iteration; ignore a value that binary32 cannot hold."""
        if representable(value):
            self._reward = as_number(value)
        else:
            self.worker.dropped("rewards")

    def exchange(self) -> None:
        """Offer the progress since the last time and adopt what has arrived; does not wait.

        Where training has left the finite numbers of binary32, what it did since the last time is undone,
        also in the optimisers' state. Raises OtherParameters when the optimisers train others by now.
        """
        self._check_parameters()
        with np.errstate(all="ignore"):  # numbers that are not finite are found below
            self._exchange_weights()

    def _exchange_weights(self) -> None:
        if not self._begun and not self._begin_training():
            self._present_weights()
            return
        weights = flat.read(self._parameters)
        moved = np.subtract(weights, self._base, out=self._moved)
        own = self.worker.held if self.worker.fresh else None
        alone = self._shares > 0 or self.worker.counters.outages > self._outages
        if alone and own is not None:
            moved += self._share_progress(weights, moved, own)
        moved /= self._rate
        broken = self.worker.counters.broken
        self.worker.offer(moved, self._reward)
        if self.worker.counters.broken > broken:
            self._undo_steps()
            return
        if alone:
            self.worker.poll()
        elif own is not None and finite(own):
            before = weights.copy() if self._wide else weights
            own *= self._rate
            own += np.subtract(weights, self._base, out=moved)
            for block in self.worker.poll():
                np.add(block.values, own[block.place], out=weights[block.place])
            weights = self._write_weights(before, weights)
        self._base = weights

    def _share_progress(self, weights: Vector, moved: Vector, held: Vector) -> Vector:
        """Return, after an outage, a share of the way from the server's weights to ours, (n,).

        No further than this program has moved alone: others may have trained on.
        """
        if self.worker.counters.outages > self._outages:
            self._outages, self._shares = self.worker.counters.outages, _SHARES
            self._reach = weights - self.worker.before_outage
        self._shares -= 1
        missing = weights - moved - self._rate * held - self.worker.newest
        share: Vector = _SHARE * np.clip(missing, np.minimum(self._reach, 0), np.maximum(self._reach, 0))
        return share if finite(share) else np.zeros_like(share)

    def _present_weights(self) -> None:
        """Offer the weights that training alone has reached, until a server answers."""
        weights = flat.read(self._parameters)
        if finite(weights):
            self._base = weights
            self.worker.begin(weights)

    def close(self) -> None:
        """Detach from the optimisers and leave the cluster."""
        self._hook.remove()
        self.worker.close()
        for where in [where for where, link in _attached.items() if link is self]:
            del _attached[where]

    def _after_step(self, optimizer: torch.optim.Optimizer, arguments: Any, keywords: Any) -> None:
        self._steps += 1
        if self._every is not None and self._steps % self._every == 0:
            self.exchange()

    def _begin_training(self) -> bool:
        """Take the server's first weights: they replace ours, and what was trained from others is dropped."""
        if not self.worker.begun:
            return False
        weights = flat.read(self._parameters)
        before = weights.copy()
        for block in self.worker.poll():
            if not np.array_equal(block.values, self._base[block.place]):
                weights[block.place] = block.values
            self._base[block.place] = block.values
        self._base += self._write_weights(before, weights) - weights
        self._begun = True
        return True

    def _write_weights(self, before: Vector, weights: Vector) -> Vector:
        """Give the parameters these values; return those that they then have, perhaps rounded.

        Doubles move by the difference to the values ``before``, so that steps too small for binary32 add up.
        """
        if self._wide:
            flat.move(self._parameters, before, weights)
        else:
            flat.write(self._parameters, weights)
        return flat.rounded(self._parameters, weights) if self._narrow else weights

    def _check_parameters(self) -> None:
        """Refuse what would be trained and not shared."""
        if sum(flat.real(parameter).numel() for parameter in self._parameters) != len(self._base):
            raise OtherParameters(
                "a parameter has another size than when the optimiser was attached: close the link and "
                "attach again, in every worker, for a new model"
            )
        known = {id(parameter) for parameter in self._parameters}
        others = sum(
            parameter.numel() for parameter in trained(self._optimizers) if id(parameter) not in known
        )
        if others:
            raise OtherParameters(
                f"{others} values are trained that were not when the optimiser was attached (unfrozen, or by "
                "add_param_group): close the link and attach again, in every worker, for a new model"
            )

    def _undo_steps(self) -> None:
        """Go back to where the last exchange ended; moments that are not finite begin again."""
        flat.write(self._parameters, self._base)
        with torch.no_grad():
            for optimizer in self._optimizers:
                for state in optimizer.state.values():
                    for value in state.values():
                        if isinstance(value, torch.Tensor) and (
                            value.is_floating_point() or value.is_complex()
                        ):
                            value[~torch.isfinite(value)] = 0


@overload
def attach(
    optimizer: Optimizers,
    server: str,
    *,
    every: int | None = 1,
    rate: float = RATE,
    wait: float | None = None,
    mode: Literal["server"] = "server",
    **worker: Any,
) -> Link: ...


@overload
def attach(
    optimizer: Optimizers, server: str, *, wait: float | None = None, mode: Literal["replica"], **worker: Any
) -> Replicated: ...


def attach(
    optimizer: Optimizers,
    server: str,
    *,
    every: int | None = 1,
    rate: float = RATE,
    wait: float | None = None,
    mode: str = "server",
    **worker: Any,
) -> Link | Replicated:
    """Train through a parameter server from now on; the training script goes on as before.

    Several optimisers are given together: they train one model, and the last one's steps count. ``server`` is
    ``host:port``, or ``olaf://cluster@engine``. Every ``every`` optimiser steps an update is offered; with
    None, when ``exchange`` is called. ``rate`` is the server's γ. Before that, up to ``wait`` seconds (5) are
    spent on beginning with the server's weights. Further arguments go to ``olaf.Worker``.

    With ``mode="replica"`` there is no parameter server: each member holds the weights and steps its own
    optimiser with the same sums of gradients, which an engine in mode iswitch-async makes. Each step of the
    script's optimiser is then one commit; up to ``wait`` seconds (60) are spent on finding the other members;
    ``every`` and ``rate`` are not used, and further arguments go to ``olaf.Replica``.

    Raises what ``Worker`` raises; OtherModel when the server trains another model; Taken when this program
    has attached another optimiser there; ValueError for an ``every`` below 1, a rate that is not above 0, no
    parameters, another mode, or what ``Replica`` refuses; TypeError for what is not a torch optimiser.
    """
    optimizers = list(optimizer) if isinstance(optimizer, Sequence) else [optimizer]
    for each in optimizers:
        if not isinstance(each, torch.optim.Optimizer):
            raise TypeError(f"a {type(each).__name__} is not a torch optimiser")
    if not (rate > 0 and representable(rate) and np.float32(rate)):
        raise ValueError(f"rate={rate}: give the server's γ, above 0")
    values = sum(flat.real(parameter).numel() for parameter in trained(optimizers))
    if (every is not None and every < 1) or values == 0:
        raise ValueError(f"every={every} steps of an optimiser of {values} values: both must be at least 1")
    if mode == "replica":
        return Replicated(optimizers, server, _TO_FIND if wait is None else wait, **worker)
    if mode != "server":
        raise ValueError(f"mode={mode!r}: either 'server' or 'replica'")
    where = parse(server), worker.get("local")
    if where in _attached and "port" not in worker:
        raise Taken(
            f"an optimiser of this program is attached to {server} already, and an address trains one model: "
            "attach([one, other], ...) trains both as one, another cluster each by itself; a further worker "
            "of the same model needs a local= address of its own"
        )
    member = Worker(server, values, **worker)
    try:
        link = Link(optimizers, member, every, rate, _TO_BEGIN if wait is None else wait)
    except BaseException:
        member.close()
        raise
    if "port" not in worker:
        _attached[where] = link
    return link
