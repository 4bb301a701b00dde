"""PPO on LunarLander-v3 with RLlib, as one worker of a cluster: needs ray[rllib]."""

import argparse

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from olaf.torch.rllib import PPOLearner

parser = argparse.ArgumentParser()
parser.add_argument("--server", default="10.0.0.254:20300", help="host:port or olaf://cluster@engine")
parser.add_argument("--iterations", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)


def main():
    args = parser.parse_args()
    algorithm = (
        PPOConfig()
        .environment("LunarLander-v3")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8)
        .training(train_batch_size_per_learner=2048, minibatch_size=512, num_epochs=4, lr=3e-4)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], vf_share_layers=False))
        .learners(learner_class=PPOLearner, learner_config_dict={"olaf": {"server": args.server}})
        .debugging(seed=args.seed)
        .build_algo()
    )
    for iteration in range(1, args.iterations + 1):
        result = algorithm.train()
        returned = result["env_runners"].get("episode_return_mean", float("nan"))
        print(f"iteration {iteration}  return {returned:.1f}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()
