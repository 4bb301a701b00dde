"""PPO on LunarLander-v3, synchronous: every gradient is the sum over all ranks, made by the engine.

OLAF_ADDRESS=olaf://lander@10.0.0.1 torchrun --nproc-per-node 2 ppo_synchronous.py --backend olaf
"""

import time

import numpy as np
import torch
import torch.distributed as dist
from ppo_lunarlander import Agent, arguments, environments, loss_of, play
from torch import nn

import olaf.distributed  # noqa: F401 - registers backend "olaf"


def main():
    parser = arguments()
    parser.add_argument("--backend", default="olaf", help="olaf, or gloo to compare with")
    args = parser.parse_args()
    dist.init_process_group(args.backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    np.random.seed(args.seed + rank)
    torch.manual_seed(args.seed)  # the same first weights everywhere
    envs = environments("LunarLander-v3", args.envs)
    agent = Agent(envs)
    parameters = list(agent.parameters())
    optimizer = torch.optim.Adam(parameters, lr=args.learning_rate, eps=1e-5)
    torch.manual_seed(args.seed + rank)

    observation = torch.as_tensor(envs.reset(seed=args.seed + 1000 * rank)[0])
    begin, batch = time.time(), args.steps * args.envs
    for iteration in range(1, args.total_steps // batch + 1):
        columns, observation, mean = play(envs, agent, observation, args)
        for _ in range(args.epochs):
            for rows in torch.randperm(batch).split(batch // args.minibatches):
                optimizer.zero_grad()
                loss_of(agent, args, *(column[rows] for column in columns)).backward()
                gradient = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
                dist.all_reduce(gradient)
                parts = (gradient / ranks).split([parameter.numel() for parameter in parameters])
                for parameter, part in zip(parameters, parts):
                    parameter.grad.copy_(part.view_as(parameter.grad))
                nn.utils.clip_grad_norm_(parameters, args.max_grad_norm)
                optimizer.step()
        if rank == 0:
            speed = iteration * batch * ranks / (time.time() - begin)
            print(f"iteration {iteration}  return {mean:.1f}  {speed:.0f} steps/s", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
