"""One rank of a small training, run by test_distributed: prints a digest of the weights for every way."""

from __future__ import annotations

import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import olaf.distributed

STEPS = 30
ALIVE: list[object] = []
"""Process groups, and models that hold them: torch joins a group's threads under the interpreter's lock, for
which one of them may still wait. A rank that lets go of a group then hangs, now and then, under load."""


def network() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 5))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(100 * step + dist.get_rank())
    return torch.randn(32, 8, generator=random), torch.randn(32, 5, generator=random)


def digest(module: torch.nn.Module) -> str:
    flat = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


def train(model: torch.nn.Module, average: bool) -> str:
    """Train; with ``average`` all-reduce one flat gradient by hand, as CleanRL does, else let DDP do it."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(STEPS):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        if average:
            flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
            dist.all_reduce(flat, op=dist.ReduceOp.SUM)
            place = 0
            for parameter in model.parameters():
                size = parameter.numel()
                parameter.grad.copy_(
                    flat[place : place + size].view_as(parameter.grad) / dist.get_world_size()
                )
                place += size
        optimizer.step()
    return digest(model)


def run_rank(backend: str, way: str) -> str:
    dist.init_process_group(backend)
    ALIVE.append(dist.group.WORLD)
    if way == "flat":
        result = train(network(), average=True)
    else:
        model = DistributedDataParallel(network())
        ALIVE.append(model)
        if way == "hook":
            member = olaf.distributed.join()
            model.register_comm_hook(member, olaf.distributed.hook)
        result = train(model, average=False)
        if way == "hook":
            member.leave()
    integers = torch.ones(3, dtype=torch.int64)
    dist.all_reduce(integers)
    assert integers.tolist() == [dist.get_world_size()] * 3
    dist.barrier()
    dist.destroy_process_group()
    return result


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = {}
    for number, (backend, way) in enumerate(json.loads(sys.argv[1])):
        os.environ["MASTER_PORT"] = os.environ["PORTS"].split(",")[number]
        results[f"{backend} {way}"] = run_rank(backend, way)
    print(json.dumps(results), flush=True)
    os._exit(0)
