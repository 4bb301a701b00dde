"""A learner without state: PPO or IMPACT on CartPole-v1, its gradients weighed and applied by the server.

The server is ``olafctl server --policy stellaris --optimizer adam --rate 1e-3``; any number of these train
one model, each may come and go. Importance weights are truncated over the versions that others learn with.
"""

import copy
import math

import numpy as np
import torch
from ppo_lunarlander import Agent, arguments, environments, play

import olaf
from olaf.torch import flat
from olaf.torch.importance import Importance, clipped


def main():
    parser = arguments(steps=False)
    parser.set_defaults(total_steps=100_000, steps=64)
    parser.add_argument("--loss", choices=["ppo", "impact"], default="ppo")
    parser.add_argument("--rho", type=float, default=1.0, help="the bound of importance weights")
    parser.add_argument("--keep", type=int, default=4, help="versions that other learners may compute with")
    args = parser.parse_args()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = environments("CartPole-v1", args.envs)
    agent = Agent(envs)
    parameters = list(agent.parameters())
    weights = flat.read(parameters)
    worker = olaf.Worker(args.server, len(weights), keep=args.keep)
    worker.begin(weights)
    if not worker.wait(5.0):
        raise SystemExit(f"no answer from {args.server}")
    importance = Importance(parameters, worker, args.rho)

    observation = torch.as_tensor(envs.reset(seed=args.seed)[0])
    mean = float("-inf")
    for iteration in range(1, args.total_steps // (args.steps * args.envs) + 1):
        (seen, taken, behaviour, gain, returns), observation, latest = play(envs, agent, observation, args)
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        target = copy.deepcopy(agent)  # IMPACT's: as the iteration began
        mean = mean if math.isnan(latest) else latest
        for _ in range(args.epochs):
            for block in worker.poll():
                weights[block.place] = block.values
            flat.write(parameters, weights)
            ratio = importance.ratios(lambda seen=seen, taken=taken: agent(seen, taken)[1], behaviour)
            if args.loss == "impact":
                with torch.no_grad():
                    before = target(seen, taken)[1]
                ratio = (behaviour - before).exp().clamp(max=2.0) * ratio
            _, _, entropy, value = agent(seen, taken)
            loss = clipped(ratio, gain, args.clip) - args.entropy * entropy.mean()
            loss = loss + args.value * (value - returns).square().mean()
            agent.zero_grad()
            loss.backward()
            gradient = flat.read([parameter.grad for parameter in parameters])
            worker.offer(-gradient, mean)  # the server ascends
            worker.drain(1.0)
        print(f"iteration {iteration}  return {mean:.1f}  small weights {importance.small:.0%}", flush=True)
    worker.close()


if __name__ == "__main__":
    main()
