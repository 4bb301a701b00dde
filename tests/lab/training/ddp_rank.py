"""One rank of test_synchronous: DDP by gloo, through the engine, and as a second job of another epoch.

Arguments: what share of the Olaf frames this rank loses. Prints a digest of the weights for each job.
"""

import hashlib
import importlib
import json
import os
import sys
from functools import partial
from random import Random
from typing import Any

import torch
import torch.distributed as dist
from olaf.errors import NoAnswer
from olaf.rounds import Rounds
from olaf.transport import wire
from olaf.transport.address import host_port
from olaf.transport.port import Address, Bytes, Party, Run
from olaf.transport.udp import UdpPort
from torch.nn.parallel import DistributedDataParallel

STEPS = 25
ALIVE: list[object] = []
"""Process groups, and models that hold them: torch joins a group's threads under the interpreter's lock, for
which one of them may still wait. A rank that lets go of a group then hangs, now and then."""
LONG = 1.0
"""Seconds after which a round that nothing answers is given up."""


class LossyUdpPort(UdpPort):
    """Loses contributions at random, and results of every other round: one member always has each result."""

    def __init__(self, local: Address, share: float) -> None:
        super().__init__(local)
        self._share, self._rank = share, int(os.environ["RANK"])
        self._random = Random(self._rank)
        self.lost = 0

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        if self._random.random() < self._share:
            self.lost += 1
            return True
        return super().send(to, header, body, tos)

    def serve(self, party: Party) -> None:
        receive = party.receive

        def sometimes(run: Run, source: Address) -> None:
            for datagram in run:
                is_result = len(datagram) >= wire.OLAF_BYTES and datagram[0] & 15 == wire.FrameType.RESULT
                turn = wire.Olaf.unpack(datagram).seq % 2 == self._rank if is_result else False
                if turn and self._random.random() < 2 * self._share:
                    self.lost += 1
                else:
                    receive(Run(datagram), source)

        party.receive = sometimes  # type: ignore[method-assign]
        super().serve(party)


def train_model(backend: str, seed: int) -> str:
    """Train by DDP from ``seed``; return a digest of the weights at the end."""
    dist.init_process_group(backend)
    ALIVE.append(dist.group.WORLD)
    torch.manual_seed(seed)
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 5))
    )
    ALIVE.append(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(STEPS):
        random = torch.Generator().manual_seed(1000 * seed + 10 * step + dist.get_rank())
        inputs, targets = torch.randn(32, 8, generator=random), torch.randn(32, 5, generator=random)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
    flat = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


def is_answered() -> bool:
    """Return whether a round of the last job's epoch still gets a result."""
    rounds = Rounds(
        UdpPort(host_port(os.environ["OLAF_LOCAL"])),
        host_port(os.environ["OLAF_ADDRESS"]),
        members=2,
        segments=int(os.environ["OLAF_SEGMENTS"]),
        epoch=1,
        limit=LONG,
    )
    try:
        rounds.reduce(torch.ones(100).numpy())
        return True
    except NoAnswer:
        return False
    finally:
        rounds.close()


def main() -> None:
    """Run the jobs, one after the other; between the two of the engine the test changes the epoch."""
    torch.set_num_threads(1)
    ports: list[LossyUdpPort] = []
    importlib.import_module("olaf.distributed")  # registers the backend
    sockets: Any = importlib.import_module("olaf.transport.udp")

    def make(share: float, local: Address) -> LossyUdpPort:
        ports.append(LossyUdpPort(local, share))
        return ports[-1]

    masters = os.environ["PORTS"].split(",")
    found: dict[str, object] = {}
    jobs = (("gloo", 1, 0), ("olaf", 1, 1), ("gloo", 2, 0), ("olaf", 2, 2))
    for (backend, seed, epoch), master in zip(jobs, masters, strict=True):
        if epoch == 2:
            print("waiting", flush=True)
            sys.stdin.readline()
            found["old epoch answered"] = is_answered()
        os.environ |= {"MASTER_PORT": master, "OLAF_EPOCH": str(epoch)}
        sockets.UdpPort = partial(make, float(sys.argv[1]))
        found[f"{backend} {seed}"] = train_model(backend, seed)
    found["lost"] = sum(port.lost for port in ports)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
