"""One of two gloo ranks: a module under FSDP, which both publish together, and whose shards play, too."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from olaf.weights import Publisher
from olaf.weights.modules import Module
from tests.ddp_member import ALIVE


def whole(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Linear(5, 3))


def sharded(seed: int) -> torch.nn.Module:
    model = whole(seed)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    return model


def step(model: torch.nn.Module) -> None:
    """Change a whole module or a sharded one, as training does."""
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.mul_(1.5)


def main(rank: int, store: str, own: str, player: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    trained, played = sharded(1), sharded(2)
    ALIVE.extend((dist.group.WORLD, trained, played))
    with Publisher(player, trained, local=own, multicast=False) as publisher:
        assert publisher.publish() == 1
        step(trained)
        assert publisher.publish() == 2
        if rank == 0:
            sys.stdin.readline()  # until the player has both
        dist.barrier()
    source, target = Module(trained, None), Module(played, None)
    state = source.read()
    box = [state]
    dist.broadcast_object_list(box)
    target.write(box[0], target.layout.own)
    after = target.read()
    assert source.leads == (rank == 0)
    assert all((after[width] == bits).all() for width, bits in state.items())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
