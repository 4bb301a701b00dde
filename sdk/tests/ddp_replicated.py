"""Train each optimiser as a script of two members; run as a module, under DDP over gloo."""

from __future__ import annotations

import os
import random
import sys
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = 7
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": {"momentum": [0.0, 0.9], "nesterov": [True], "maximize": [True, False], "dampening": [0.0]},
    "Adam": {"amsgrad": [True, False], "weight_decay": [0.0, 0.1], "maximize": [True, False]},
    "AdamW": {"amsgrad": [True, False], "weight_decay": [0.1], "maximize": [True, False]},
    "NAdam": {"decoupled_weight_decay": [True, False], "weight_decay": [0.1]},
    "RAdam": {"weight_decay": [0.0, 0.1], "maximize": [True, False]},
    "RMSprop": {"centered": [True, False], "momentum": [0.0, 0.5], "weight_decay": [0.0, 0.1]},
    "Adagrad": {"lr_decay": [0.0, 0.1], "initial_accumulator_value": [0.0, 0.1]},
    "Adadelta": {"rho": [0.9], "weight_decay": [0.1]},
    "Adamax": {"weight_decay": [0.0, 0.1], "maximize": [True, False]},
    "ASGD": {"t0": [2], "weight_decay": [0.1]},
    "Rprop": {"maximize": [True, False]},
    "Adafactor": {"weight_decay": [0.1]},
    "Muon": {"nesterov": [True, False], "weight_decay": [0.1]},
}
"""Options of torch's optimisers that a random case takes values of."""


class Heads(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """A body and three heads: of one layer no member has a gradient at times, of one a single member has."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = torch.nn.Linear(6, 5, bias=False)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(5, 3, bias=False) for _ in range(3))

    def forward(self, inputs: torch.Tensor, used: list[int]) -> torch.Tensor:
        """Sum the outputs of the ``used`` heads."""
        hidden = torch.tanh(self.body(inputs))
        return torch.stack([self.heads[head](hidden) for head in used]).sum(0)


def make(case: int, model: torch.nn.Module) -> torch.optim.Optimizer:
    """Make the case's optimiser, with random options."""
    choose = random.Random(case)
    name = list(OPTIONS)[case % len(OPTIONS)]
    options = {key: choose.choice(values) for key, values in OPTIONS[name].items()}
    if not options.get("momentum", 1):
        options.pop("nesterov", None)
    if name != "Muon" and name != "Adafactor":
        options["foreach"] = choose.choice([True, False, None])
    groups = [{"params": [each], "lr": choose.choice([0.05, 0.01])} for each in model.parameters()]
    made: torch.optim.Optimizer = getattr(torch.optim, name)(groups, **options)
    return made


def play(case: int, rank: int, model: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
    """Train for STEPS steps, sometimes through a closure."""
    numbers = torch.Generator().manual_seed(2 * case + rank)
    for step in range(STEPS):
        inputs = torch.randn(4, 6, generator=numbers)
        # The third head is used by both members, by one, and by none.
        used = [0, 1] + [2] * (step % 3 == 0 or (step % 3 == 1 and rank == case % 2))

        def loss(inputs: torch.Tensor = inputs, used: list[int] = used) -> torch.Tensor:
            optimizer.zero_grad()
            found = model(inputs, used).square().sum()
            found.backward()
            return found

        if case % 2:
            optimizer.step(loss)  # type: ignore[arg-type,unused-ignore]
        else:
            loss()
            optimizer.step()


def main(cases: int) -> None:
    """Train every case under DDP and print each model's weights, as JSON, from the first rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ends = []
    for case in range(cases):
        model = Heads(case)
        shared = DistributedDataParallel(model, find_unused_parameters=True)
        play(case, dist.get_rank(), shared, make(case, model))
        ends.append({key: value.clone() for key, value in model.state_dict().items()})
    torch.save(ends, f"{sys.argv[2]}/{dist.get_rank()}.pt")
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
