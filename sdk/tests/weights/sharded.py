"""One of two gloo ranks: a module under FSDP, published by rank 0 and adopted by both ranks' own copies."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from olaf.weights.modules import Module


def module(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Linear(5, 3))
    mesh = init_device_mesh("cpu", (2,))
    fully_shard(model, mesh=mesh)
    return model


def main(rank: int, store: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    trained, played = module(1), module(2)
    source, target = Module(trained, None), Module(played, None)
    state = source.read()
    whole = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Linear(5, 3))
    assert source.layout.digest == Module(whole, None).layout.digest  # a player needs no shards
    target.write(state, target.layout.own)
    after = target.read()
    assert all((after[width] == bits).all() for width, bits in state.items())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
