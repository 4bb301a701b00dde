"""One of the two ranks of an inference engine: prints the sum of what it loaded."""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist

from olaf.weights.checkpoint import EnginePlayer, Named


def main(store: str, info: str, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    loaded: dict[str, torch.Tensor] = {}

    def load(tensors: Named) -> None:
        loaded.update((name, tensor.clone()) for name, tensor in tensors)

    player = EnginePlayer(json.loads(info), load, dist.group.WORLD)
    assert player.adopt(1, 60.0) == 1
    print(float(loaded["1.weight"].sum()))
    player.close()
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads may abort a process whose interpreter ends


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
