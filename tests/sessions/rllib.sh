# A learner of RLlib's and a server, each at its address.
ip address add 10.0.0.254/32 dev lo
ip address add 10.0.1.1/32 dev lo
olafctl server --listen 10.0.0.254:20300 --policy plain &
#: sdk/README.md: from olaf.torch.rllib -> block.py
cat > before.py <<'END'
from ray.rllib.algorithms.ppo import PPOConfig

config = (
    PPOConfig()
    .environment("CartPole-v1")
    .env_runners(num_env_runners=0)
    .training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=2)
    .learners(num_learners=0)
)
END
cat > after.py <<'END'
algorithm = config.build_algo()
link = algorithm.learner_group._learner.link
while link.worker.counters.acks < 3:
    algorithm.train()
algorithm.stop()
END
cat before.py block.py after.py > program.py
OLAF_LOCAL=10.0.1.1:20300 python program.py
kill -INT %1
