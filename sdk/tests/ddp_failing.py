"""One rank of a job that goes wrong, or follows one that did, for test_distributed: prints what happened."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import olaf.distributed  # noqa: F401 - registers the backend
from tests.ddp_member import ALIVE


def steps(count: int) -> None:
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    for step in range(count):
        if step == 3 and sys.argv[1] == f"{dist.get_rank()} dies":
            os._exit(0)
        model(torch.ones(4, 8)).sum().backward()


def collectives() -> dict[str, object]:
    ones = torch.ones(4)
    work = dist.all_reduce(ones, async_op=True)
    work.wait()
    scattered = torch.zeros(2)
    dist.reduce_scatter_tensor(scattered, torch.arange(4.0))
    return {"completed": work.is_completed(), "sum": ones.tolist(), "scattered": scattered.tolist()}


def run_rank() -> dict[str, object]:
    begun = time.monotonic()
    try:
        dist.init_process_group("olaf", timeout=timedelta(seconds=120))
        begun = time.monotonic()  # the other rank has loaded torch now, too
        ALIVE.append(dist.group.WORLD)
        steps(6)
        outcome = collectives()
        dist.destroy_process_group()
        return outcome
    except Exception as failure:
        return {"error": str(failure), "seconds": time.monotonic() - begun}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(run_rank()), flush=True)
    os._exit(0)  # torch may hang where it destroys process groups: see ddp_member
