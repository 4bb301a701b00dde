"""A learner without state: PPO or IMPACT on CartPole-v1, its gradients weighed and applied by the server.

The server is ``olafctl server --policy stellaris --optimizer adam --rate 1e-3``; any number of these train
one model, each may come and go. Importance weights are truncated over the versions that others learn with.
"""

import argparse
import copy

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import olaf
from olaf.torch import flat
from olaf.torch.importance import Importance, clipped


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default="10.0.0.254:20300", help="host:port or olaf://cluster@engine")
    parser.add_argument("--loss", choices=["ppo", "impact"], default="ppo")
    parser.add_argument("--total-steps", type=int, default=100_000)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=64, help="per environment and iteration")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rho", type=float, default=1.0, help="the bound of importance weights")
    parser.add_argument("--keep", type=int, default=4, help="versions that other learners may compute with")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    return parser.parse_args()


class Agent(nn.Module):
    def __init__(self, observation, actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(observation, 64), nn.Tanh(), nn.Linear(64, actions))
        self.critic = nn.Sequential(nn.Linear(observation, 64), nn.Tanh(), nn.Linear(64, 1))

    def policy(self, observations):
        return torch.distributions.Categorical(logits=self.actor(observations))

    def value(self, observations):
        return self.critic(observations)[..., 0]


def play(envs, agent, observation, args):
    """Rows of one iteration, the newest observation, and the episodes' rewards that ended."""
    rows, returns = [], []
    for _ in range(args.steps):
        with torch.no_grad():
            policy = agent.policy(observation)
            action = policy.sample()
            row = [observation, action, policy.log_prob(action), agent.value(observation)]
        following, reward, ended, cut, info = envs.step(action.numpy())
        rows.append([*row, torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(ended | cut)])
        observation = torch.as_tensor(following)
        if "final_info" in info:
            returns.extend(info["final_info"]["episode"]["r"][info["final_info"]["_episode"]])
    return [torch.stack(column) for column in zip(*rows)], observation, returns


def advantages(values, rewards, dones, last, args):
    found, running = torch.zeros_like(values), torch.zeros_like(last)
    for step in reversed(range(len(values))):
        going = 1 - dones[step].float()
        error = rewards[step] + args.gamma * last * going - values[step]
        found[step] = running = error + args.gamma * args.gae_lambda * going * running
        last = values[step]
    return found


def main():
    args = arguments()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # networks this small are slower on more
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))] * args.envs,
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.n)
    parameters = list(agent.parameters())
    weights = flat.read(parameters)
    worker = olaf.Worker(args.server, len(weights), keep=args.keep)
    worker.begin(weights)
    if not worker.wait(5.0):
        raise SystemExit(f"no answer from {args.server}")
    importance = Importance(parameters, worker, args.rho)

    observation = torch.as_tensor(envs.reset(seed=args.seed)[0])
    mean, batch = float("-inf"), args.steps * args.envs
    for iteration in range(1, args.total_steps // batch + 1):
        columns, observation, returns = play(envs, agent, observation, args)
        seen, taken, behaviour, values, rewards, dones = columns
        with torch.no_grad():
            gain = advantages(values, rewards, dones, agent.value(observation), args).reshape(-1)
        targets, gain = gain + values.reshape(-1), (gain - gain.mean()) / (gain.std() + 1e-8)
        seen, taken, behaviour = seen.reshape(batch, -1), taken.reshape(-1), behaviour.reshape(-1)
        target = copy.deepcopy(agent)  # IMPACT's: as the iteration began
        mean = float(np.mean(returns)) if returns else mean
        for _ in range(args.epochs):
            for block in worker.poll():
                weights[block.place] = block.values
            flat.write(parameters, weights)
            ratio = importance.ratios(lambda: agent.policy(seen).log_prob(taken), behaviour)  # noqa: B023
            if args.loss == "impact":
                with torch.no_grad():
                    before = target.policy(seen).log_prob(taken)
                ratio = (behaviour - before).exp().clamp(max=2.0) * ratio
            loss = clipped(ratio, gain, args.clip)
            loss = loss + 0.5 * (agent.value(seen) - targets).square().mean()
            loss = loss - args.entropy * agent.policy(seen).entropy().mean()
            agent.zero_grad()
            loss.backward()
            gradient = flat.read([parameter.grad for parameter in parameters])
            worker.offer(-gradient, mean)  # the server ascends
            worker.drain(1.0)
        print(f"iteration {iteration}  return {mean:.1f}  small weights {importance.small:.0%}", flush=True)
    worker.close()


if __name__ == "__main__":
    main()
