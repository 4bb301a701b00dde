"""The backend, and this process's place in its cluster."""

from __future__ import annotations

import atexit
import json
import os
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from olaf.errors import BadAddress, NoAnswer
from olaf.rounds import Rounds
from olaf.serial import ROUND_BITS
from olaf.transport.address import host_port, parse
from olaf.transport.segments import STANDARD_MTU
from olaf.transport.udp import open_port

_LINGER = 5.0
"""Seconds a member that is done stays for others that may have missed the last result."""
_LOOK_AGAIN = 0.01
_TICK = 125_000
"""ns for each round number, more than a job can use: later ones begin ahead of it."""
_OPENING = 2.0
"""Seconds for the first sum, each of three times."""


class DistributedMember:
    """This process's place in an iswitch cluster, from joining to leaving."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        """Collective over all ranks; ``store`` is a torch.distributed store. A sum fails after ``timeout``.

        Raises BadAddress, JoinRefused, NoAnswer (also when the engine does not make a first sum of all
        members in seconds), and OSError when OLAF_LOCAL cannot be bound.
        """
        text = os.environ.get("OLAF_ADDRESS")
        if not text:
            raise BadAddress("set OLAF_ADDRESS to the cluster: host:port or olaf://cluster@engine")
        where = parse(text)
        port = open_port(None, where)
        try:
            self.rounds = Rounds(
                port,
                where,
                size,
                segments=_read_number("OLAF_SEGMENTS", 1),
                mtu=_read_number("OLAF_MTU", STANDARD_MTU),
                epoch=_read_number("OLAF_EPOCH", 0),
                key=os.environ.get("OLAF_KEY", ""),
                limit=timeout.total_seconds(),
            )
            host, number = port.reachable(self.rounds.server)
            store.set(f"olaf/{rank}", f"{host}:{number}")
            everyone = [store.get(f"olaf/{other}").decode() for other in range(size)]  # waits for all
            self.rounds.peers = [host_port(peer) for other, peer in enumerate(everyone) if other != rank]
            _open_member(self.rounds, store, rank, size)
        except BaseException:
            port.close()
            raise
        self._store, self._size = store, size
        self._left = False
        atexit.register(self.leave)

    def sum(self, tensor: torch.Tensor) -> Sum:
        """Replace a contiguous binary32 tensor by its sum over all members.

        Raises NoAnswer when an earlier sum has failed.
        """
        work = Sum(tensor)
        self.rounds.start(tensor.detach().view(-1).numpy(), work.end)
        return work

    def leave(self) -> None:
        """Leave once all are done, at the latest after ``_LINGER`` seconds, so that each can have the last
        result."""
        if self._left:
            return
        self._left = True
        self.rounds.leave()
        end = time.monotonic() + _LINGER
        try:
            self._store.add("olaf/done", 1)
            while int(self._store.add("olaf/done", 0)) < self._size and time.monotonic() < end:
                time.sleep(_LOOK_AGAIN)
        except (RuntimeError, dist.DistError):
            pass  # the store's process has gone: its members cannot be reached any more
        self.rounds.close()


class Sum(dist.Work):
    """The work that torch waits on.

    DDP reads its future in C++, which takes what Python calls an exception of a future for a value, and
    crashes: so the failure is raised within ``then``, which C++ understands too.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__()
        self.failure: NoAnswer | None = None
        self._ended: torch.futures.Future[None] = torch.futures.Future()

        def outcome(ended: torch.futures.Future[None]) -> list[torch.Tensor]:
            if self.failure is not None:
                raise self.failure
            return [tensor]

        self._future = self._ended.then(outcome)

    def end(self, failure: NoAnswer | None) -> None:
        """End with the sum, or with what keeps it from coming."""
        self.failure = failure
        self._ended.set_result(None)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the sum has come. Raises what ended it otherwise."""
        self._ended.wait()
        if self.failure is not None:
            raise self.failure
        return True

    def is_completed(self) -> bool:
        """Return whether ``wait`` returns, or raises, at once."""
        return bool(self._ended.done())

    def is_success(self) -> bool:
        """Return whether the sum has come."""
        return self.is_completed() and self.failure is None

    def exception(self) -> NoAnswer | None:
        """Return the error that ended the sum, if any."""
        return self.failure

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """Return the future by which DDP waits."""
        return self._future


class OlafGroup(dist.ProcessGroup):
    """A process group whose float sums are made by the engine."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, engine: bool) -> None:
        """``engine``: whether this group is the one that the cluster serves."""
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
        # Every collective that is not defined here, now and in later versions of torch.
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, self._gloo)
        self.member = DistributedMember(store, rank, size, timeout) if engine and size > 1 else None

    def allreduce(self, tensors: list[torch.Tensor], options: Any = None) -> Any:
        """Sum through the engine where it can; torch waits for the result on the returned work."""
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
        return self.member.sum(tensor)

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Return the name under which the backend is registered."""
        return "olaf"

    def shutdown(self) -> None:
        """Leave the cluster."""
        global _world
        if self.member is not None:
            self.member.leave()
        if _world is self:
            _world = None


_world: OlafGroup | None = None
"""The group that the cluster serves; further groups would mix their rounds with its."""


def _make_group(store: Any, rank: int, size: int, timeout: timedelta) -> OlafGroup:
    """Make a group; the first one, which torch makes for the world, gets the engine."""
    global _world
    group = OlafGroup(store, rank, size, timeout, engine=_world is None)
    _world = _world or group
    return group


def join(timeout: timedelta = dist.default_pg_timeout) -> DistributedMember:
    """Join the cluster for the DDP hook, where another backend keeps the other collectives."""
    store = dist.PrefixStore("olaf/hook", dist.distributed_c10d._get_default_store())
    return DistributedMember(store, dist.get_rank(), dist.get_world_size(), timeout)


def hook(member: DistributedMember, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """Sum a bucket as DDP's hook: ``ddp.register_comm_hook(olaf.distributed.join(), olaf.distributed.hook)``.

    As DDP does by itself: gradients are divided by the number of members, then summed.
    """
    gradients = bucket.buffer().div_(member.rounds.members)
    return member.sum(gradients).get_future().then(lambda future: future.value()[0])


# DDP compares the hook's annotations with these objects; written in the signature they would be strings.
hook.__annotations__.update({"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]})


def _open_member(rounds: Rounds, store: Any, rank: int, size: int) -> None:
    """Find, for each segment, a round that the engine takes for a new one; collective.

    What was there before (another job, one that failed in the middle of a round) has left round numbers in
    the engine, and takes older ones for late duplicates. Of three that are 3/8 of the circle apart, one is
    newer than any other. The clock comes first: it is ahead of a job that began earlier.

    Raises NoAnswer on every rank, with what the engine did not do.
    """
    if rank == 0:
        store.set("olaf/first", str(time.time_ns() // _TICK))
    first, missing = int(store.get("olaf/first")), set(range(rounds.segments))
    for turn in range(3):
        failed = rounds.open(sorted(missing), first + turn * 3 * (1 << ROUND_BITS) // 8, _OPENING)
        store.set(f"olaf/opened/{turn}/{rank}", json.dumps(failed))
        everyone = [json.loads(store.get(f"olaf/opened/{turn}/{other}")) for other in range(size)]
        missing = {int(segment) for failures in everyone for segment in failures}
        if not missing:
            return
    counts = sorted({count for failures in everyone for count in failures.values() if count})
    raise NoAnswer(rounds.unopened(sorted(missing), counts))


def _read_number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdigit():
        raise BadAddress(f"{name}={text!r} is not a number")
    return int(text)


dist.Backend.register_backend("olaf", _make_group, devices=["cpu"])
