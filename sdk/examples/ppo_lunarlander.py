"""PPO on LunarLander-v3 in one file: two networks of 64-64, 9,797 values."""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import olaf


def arguments(steps=True):
    """Read the command line; without ``steps`` that of a script whose server makes the optimiser's steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default="10.0.0.254:20300", help="host:port or olaf://cluster@engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-steps", type=int, default=500_000)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=256, help="per environment and iteration")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--value", type=float, default=0.5)
    if steps:
        parser.add_argument("--learning-rate", type=float, default=3e-4)
        parser.add_argument("--minibatches", type=int, default=4)
        parser.add_argument("--max-grad-norm", type=float, default=0.5)
    return parser


def layer(inputs, outputs, gain=2**0.5):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        observation, actions = envs.single_observation_space.shape[0], envs.single_action_space.n
        self.critic = nn.Sequential(
            layer(observation, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, gain=1.0)
        )
        self.actor = nn.Sequential(
            layer(observation, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, gain=0.01)
        )

    def forward(self, observations, actions=None):
        policy = torch.distributions.Categorical(logits=self.actor(observations))
        if actions is None:
            actions = policy.sample()
        return actions, policy.log_prob(actions), policy.entropy(), self.critic(observations)[..., 0]


def environments(name, number):
    torch.set_num_threads(1)  # networks this small are slower on more
    return gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(name))] * number,
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )


def play(envs, agent, observation, args):
    """Play an iteration: return observations, actions, log-probabilities, advantages and returns of its
    steps, a row each; the newest observation; the mean return of the episodes that ended."""
    played, ended_with = [], []
    for _ in range(args.steps):
        with torch.no_grad():
            action, log_prob, _, value = agent(observation)
        following, reward, ended, cut, info = envs.step(action.numpy())
        reward, done = torch.as_tensor(reward).float(), torch.as_tensor(ended | cut).float()
        played.append((observation, action, log_prob, value, reward, done))
        observation = torch.as_tensor(following)
        if "final_info" in info:
            ended_with.extend(info["final_info"]["episode"]["r"][info["final_info"]["_episode"]])
    seen, taken, log_probs, values, rewards, dones = (torch.stack(column) for column in zip(*played))
    with torch.no_grad():
        advantages, running, value = torch.zeros_like(values), 0.0, agent.critic(observation)[:, 0]
        for step in reversed(range(args.steps)):
            going = 1 - dones[step]
            error = rewards[step] + args.gamma * value * going - values[step]
            advantages[step] = running = error + args.gamma * args.gae_lambda * going * running
            value = values[step]
    columns = (seen, taken, log_probs, advantages, advantages + values)
    mean = float(np.mean(ended_with)) if ended_with else float("nan")
    return [column.flatten(0, 1) for column in columns], observation, mean


def loss_of(agent, args, seen, taken, before, gain, returns):
    _, now, entropy, value = agent(seen, taken)
    ratio = (now - before).exp()
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
    value_loss = 0.5 * (value - returns).square().mean()
    return policy_loss - args.entropy * entropy.mean() + args.value * value_loss


def main():
    args = arguments().parse_args()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = environments("LunarLander-v3", args.envs)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    link = olaf.attach(optimizer, args.server, every=args.epochs * args.minibatches)

    observation = torch.as_tensor(envs.reset(seed=args.seed)[0])
    begin, batch = time.time(), args.steps * args.envs
    for iteration in range(1, args.total_steps // batch + 1):
        columns, observation, mean = play(envs, agent, observation, args)
        link.reward(mean)
        for _ in range(args.epochs):
            for rows in torch.randperm(batch).split(batch // args.minibatches):
                optimizer.zero_grad()
                loss_of(agent, args, *(column[rows] for column in columns)).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
        speed = iteration * batch / (time.time() - begin)
        steps = f"iteration {iteration}  steps {iteration * batch}"
        print(f"{steps}  return {mean:.1f}  {speed:.0f} steps/s", flush=True)


if __name__ == "__main__":
    main()
