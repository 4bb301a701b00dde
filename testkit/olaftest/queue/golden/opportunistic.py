"""Algorithm 1 of OLAF with the reward rule of OLAF §3: what becomes of an update, by what waits."""

from olaftest.queue.golden.frames import GoldenUpdate
from olaftest.queue.golden.reward import Reward
from olaftest.queue.golden.waiting import WaitingUpdate


def update_disposition(
    update: GoldenUpdate, reward: Reward, waiting: WaitingUpdate | None, full: bool, compare_rewards: bool
) -> str:
    """Return the counter of what becomes of ``update``; ``waiting`` is its index's unlocked update."""
    if waiting is None:
        return "dropped_full" if full else "appended"
    if update.sidecar.size != waiting.sidecar.size:
        return "dropped_mismatch"
    if waiting.replaceable_by == update.sidecar.worker and not update.aggregated:
        return "replaced_worker"
    if compare_rewards and reward.above(waiting.reward):
        return "replaced_reward"
    if compare_rewards and reward.below(waiting.reward):
        return "dropped_reward"
    return "merged"
