"""The synchronous door: ``torch.distributed`` backend "olaf" and a DDP communication hook.

Importing this module registers the backend. Sums of binary32 tensors on the CPU over the whole world go
through the engine; every other collective, type and group goes through gloo. Where the cluster is comes from
the environment:

    OLAF_ADDRESS   parameter server address of the cluster, host:port, or olaf://cluster@engine to join
    OLAF_KEY       the cluster's key, if it has one
    OLAF_LOCAL     this member's address, host:port, where the engine knows it by one (default: any)
    OLAF_MTU       bytes of an IP packet (default 1500)
    OLAF_EPOCH, OLAF_SEGMENTS    for a fixed address: the job's epoch and the cluster's segments (0, 1)
"""

from __future__ import annotations

import atexit
import os
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from olaf.address import host_port, parse
from olaf.errors import BadAddress, NoAnswer
from olaf.rounds import Rounds
from olaf.segments import STANDARD_MTU
from olaf.udp import UdpPort

_LINGER = 5.0
"""Seconds a member that is done stays for others that may have missed the last result."""
_LOOK_AGAIN = 0.01

_THROUGH_GLOO = (
    "allgather",
    "_allgather_base",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "allreduce_coalesced",
    "alltoall",
    "alltoall_base",
    "barrier",
    "broadcast",
    "gather",
    "recv",
    "recv_anysource",
    "reduce",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "scatter",
    "send",
)


class Member:
    """This process's place in an iswitch cluster, from joining to leaving."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        """Collective over all ranks; ``store`` is a torch.distributed store. A sum fails after ``timeout``.

        Raises BadAddress, JoinRefused, NoAnswer, and OSError when OLAF_LOCAL cannot be bound.
        """
        text = os.environ.get("OLAF_ADDRESS")
        if not text:
            raise BadAddress("set OLAF_ADDRESS to the cluster: host:port or olaf://cluster@engine")
        port = UdpPort(host_port(os.environ.get("OLAF_LOCAL", "0.0.0.0:0")))
        try:
            self.rounds = Rounds(
                port,
                parse(text),
                size,
                segments=_number("OLAF_SEGMENTS", 1),
                mtu=_number("OLAF_MTU", STANDARD_MTU),
                epoch=_number("OLAF_EPOCH", 0),
                key=os.environ.get("OLAF_KEY", ""),
                limit=timeout.total_seconds(),
            )
            host, number = port.reachable(self.rounds.server)
            store.set(f"olaf/{rank}", f"{host}:{number}")
            everyone = [store.get(f"olaf/{other}").decode() for other in range(size)]  # waits for all
            self.rounds.peers = [host_port(peer) for other, peer in enumerate(everyone) if other != rank]
        except BaseException:
            port.close()
            raise
        self._store, self._size = store, size
        self._left = False
        atexit.register(self.leave)

    def sum(self, tensor: torch.Tensor) -> torch.futures.Future[list[torch.Tensor]]:
        """Replace a contiguous binary32 tensor by its sum over all members; done when the future is."""
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()

        def end(failure: NoAnswer | None) -> None:
            if failure is None:
                future.set_result([tensor])
            else:
                future.set_exception(failure)

        self.rounds.start(tensor.detach().view(-1).numpy(), end)
        return future

    def leave(self) -> None:
        """Stay until all are done, at most ``_LINGER`` seconds, so that each can have the last result."""
        if self._left:
            return
        self._left = True
        end = time.monotonic() + _LINGER
        try:
            self._store.add("olaf/done", 1)
            while int(self._store.add("olaf/done", 0)) < self._size and time.monotonic() < end:
                time.sleep(_LOOK_AGAIN)
        except (RuntimeError, dist.DistError):
            pass  # the store's process has gone: no one can be asked any more
        self.rounds.close()


class Sum(dist.Work):
    """What torch waits on; unlike torch's own wrapper of a future, waiting raises the future's failure."""

    def __init__(self, future: torch.futures.Future[list[torch.Tensor]]) -> None:
        super().__init__()
        self._future = future

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until the sum is here; raises what ended it otherwise."""
        self._future.wait()
        return True

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """DDP's way to wait."""
        return self._future


class OlafGroup(dist.ProcessGroup):
    """A process group whose float sums are made by the engine."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, engine: bool) -> None:
        """``engine``: whether this group is the one that the cluster serves."""
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
        self.member = Member(store, rank, size, timeout) if engine and size > 1 else None

    def allreduce(self, tensors: list[torch.Tensor], options: Any = None) -> Any:
        """Through the engine where it can; torch waits for the result on the returned work."""
        options = options or dist.AllreduceOptions()
        tensor = tensors[0]
        if (
            self.member is None
            or len(tensors) != 1
            or options.reduceOp != dist.ReduceOp.SUM
            or tensor.dtype != torch.float32
            or tensor.device.type != "cpu"
            or not tensor.is_contiguous()
        ):
            return self._gloo.allreduce(tensors, options)
        return Sum(self.member.sum(tensor))

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """As registered."""
        return "olaf"

    def shutdown(self) -> None:
        """Leave the cluster."""
        global _world
        if self.member is not None:
            self.member.leave()
        if _world is self:
            _world = None


def _through_gloo(name: str) -> Any:
    def collective(self: OlafGroup, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self._gloo, name)(*arguments, **keywords)

    collective.__name__ = name
    return collective


for _name in _THROUGH_GLOO:
    setattr(OlafGroup, _name, _through_gloo(_name))

_world: OlafGroup | None = None
"""The group that the cluster serves; further groups would mix their rounds with its."""


def _make(store: Any, rank: int, size: int, timeout: timedelta) -> OlafGroup:
    """Torch makes the world's group first."""
    global _world
    group = OlafGroup(store, rank, size, timeout, engine=_world is None)
    _world = _world or group
    return group


def join(timeout: timedelta = dist.default_pg_timeout) -> Member:
    """A place in the cluster for the DDP hook, where another backend keeps the other collectives."""
    store = dist.PrefixStore("olaf/hook", dist.distributed_c10d._get_default_store())
    return Member(store, dist.get_rank(), dist.get_world_size(), timeout)


def hook(member: Member, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """DDP communication hook: ``ddp.register_comm_hook(olaf.distributed.join(), olaf.distributed.hook)``.

    As DDP does by itself: gradients are divided by the number of members, then summed.
    """
    gradients = bucket.buffer().div_(member.rounds.members)
    return member.sum(gradients).then(lambda future: future.value()[0])


# DDP compares the hook's annotations with these objects; written in the signature they would be strings.
hook.__annotations__.update({"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]})


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdigit():
        raise BadAddress(f"{name}={text!r} is no number")
    return int(text)


dist.Backend.register_backend("olaf", _make, devices=["cpu"])
