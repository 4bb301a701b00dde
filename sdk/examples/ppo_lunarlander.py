"""PPO on LunarLander-v3 in one file: two networks of 64-64, 9,797 values."""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-steps", type=int, default=500_000)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=256, help="per environment and iteration")
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--value", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    return parser.parse_args()


def layer(inputs, outputs, gain=2**0.5):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, observation, actions):
        super().__init__()
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


def main():
    args = arguments()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # networks this small are slower on more
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("LunarLander-v3"))] * args.envs,
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.n)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.steps, args.envs)
    observations = torch.zeros(*shape, envs.single_observation_space.shape[0])
    actions = torch.zeros(shape, dtype=torch.long)
    log_probs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))

    observation = torch.as_tensor(envs.reset(seed=args.seed)[0])
    begin, batch = time.time(), args.steps * args.envs
    for iteration in range(1, args.total_steps // batch + 1):
        returns = []
        for step in range(args.steps):
            observations[step] = observation
            with torch.no_grad():
                actions[step], log_probs[step], _, values[step] = agent(observation)
            following, reward, ended, cut, info = envs.step(actions[step].numpy())
            observation, rewards[step] = torch.as_tensor(following), torch.as_tensor(reward)
            dones[step] = torch.as_tensor(ended | cut)
            if "final_info" in info:
                episode = info["final_info"]["episode"]
                returns.extend(episode["r"][info["final_info"]["_episode"]])
        mean = float(np.mean(returns)) if returns else float("nan")

        with torch.no_grad():
            advantages, running, value = torch.zeros(shape), 0.0, agent.critic(observation)[:, 0]
            for step in reversed(range(args.steps)):
                going = 1 - dones[step]
                error = rewards[step] + args.gamma * value * going - values[step]
                advantages[step] = running = error + args.gamma * args.gae_lambda * going * running
                value = values[step]
        targets = (advantages + values).reshape(-1)

        flat = (
            observations.reshape(batch, -1),
            actions.reshape(-1),
            log_probs.reshape(-1),
            advantages.reshape(-1),
        )
        for _ in range(args.epochs):
            for rows in torch.randperm(batch).split(batch // args.minibatches):
                seen, taken, before, gain = (column[rows] for column in flat)
                _, now, entropy, value = agent(seen, taken)
                ratio = (now - before).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy_loss = -torch.min(
                    gain * ratio, gain * ratio.clamp(1 - args.clip, 1 + args.clip)
                ).mean()
                value_loss = 0.5 * (value - targets[rows]).square().mean()
                loss = policy_loss - args.entropy * entropy.mean() + args.value * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        speed = iteration * batch / (time.time() - begin)
        print(
            f"iteration {iteration}  steps {iteration * batch}  return {mean:.1f}  {speed:.0f} steps/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
