"""A team of the SDK's example whose rows are kept in another layout: what differs is the layout alone."""

from typing import Any

import numpy as np
import numpy.typing as npt
from olaf.experience import CUT, GOES_ON, Batch, Draw, Ring, Writer

from olaflab.papers.marl.examples import load_example
from olaflab.papers.marl.stacks import ACTIONS, EPISODE, Lists, RowStack

_ENDS = [GOES_ON] * (EPISODE - 1) + [CUT]


def keep_rows(team: Any, stack: RowStack) -> None:
    """Keep the rows that ``team`` plays from now on in ``stack`` too, and let it learn from there.

    Its samplers draw as before, from the ring. With lists every trainer reads its own agent's rows once
    more, as the reference implementation does. Networks get their inputs as they lie in the ring's batches:
    sums of a matrix product can differ in their last bit with the distance of its rows.
    """
    maddpg = load_example("maddpg")
    where = np.zeros(team.ring.most * team.ring.rows, np.int64)
    team.writers = [_Both(writer, team.ring, stack, where) for writer in team.writers]

    def sampled(index: int) -> Any:
        draw = team.samplers[index].draw(team.settings.batch)
        chosen = where[team.ring.slots(draw.actors, draw.positions)]
        agents = stack.gather(chosen)
        if isinstance(stack, Lists):
            stack.of(index, chosen.tolist())
        columns = _blank_columns(team.ring, draw)
        for key, column in enumerate(columns.values()):
            parts = [agent[key].reshape(len(draw), -1) for agent in agents]
            np.concatenate(parts, axis=1, out=column, casting="same_kind")
        return maddpg.Sampled(Batch(columns, np.ones(len(draw), bool)), draw)

    vars(team)["_sampled"] = sampled


def _blank_columns(ring: Ring, draw: Draw) -> dict[str, npt.NDArray[np.float32]]:
    """Return (rows, values) of each key, without a value, at the places that the ring's own batches give
    them."""
    one = ring.gather(draw.actors[:1], draw.positions[:1])
    places = {key: column.__array_interface__["data"][0] for key, column in one.columns.items()}
    first, stride = min(places.values()), one["obs"].strides[0]
    memory = np.empty(len(draw) * stride, np.uint8)
    return {
        key: np.ndarray(
            (len(draw), one[key].shape[1]),
            np.float32,
            memory,
            places[key] - first,
            (stride, one[key].itemsize),
        )
        for key in ("obs", "act", "next", "reward", "done")
    }


def fill_ring(team: Any, rows: int) -> None:
    """Write noise for ``rows`` steps in whole episodes: a round costs the same as with other rows."""
    random = np.random.default_rng(1)
    seen, count = team.joint - ACTIONS * len(team.agents), len(team.agents)
    for episode in range(rows // EPISODE):
        writer = team.writers[episode % len(team.writers)]
        observed = random.random((EPISODE + 1, seen), np.float32)
        actions = random.random((EPISODE, ACTIONS * count), np.float32)
        reward = random.random((EPISODE, count), np.float32)
        steps = {"obs": observed[:-1], "act": actions, "reward": reward, "done": np.zeros_like(reward)}
        writer.write(steps, end=_ENDS)
        writer.finish(obs=observed[-1])


class _Both:
    """A world's writer, to its ring and to the stack; an episode comes as a whole."""

    def __init__(self, writer: Writer, ring: Ring, stack: RowStack, where: npt.NDArray[np.int64]) -> None:
        self._writer, self._ring, self._stack, self._where = writer, ring, stack, where
        self._steps: dict[str, npt.NDArray[np.float32]] = {}

    def write(self, steps: dict[str, npt.NDArray[np.float32]], end: list[int]) -> None:
        """Write an episode's steps to the ring."""
        positions = self._writer.position() + np.arange(len(end))
        slots = self._ring.slots(np.full(len(end), self._writer.actor), positions)
        self._where[slots] = np.arange(self._stack.rows, self._stack.rows + len(end))
        self._writer.write(steps, end=end)
        self._steps = steps

    def finish(self, obs: npt.NDArray[Any]) -> None:
        """Finish the episode in the ring, and write it to the stack: all next observations are known now."""
        self._writer.finish(obs=obs)
        steps = self._steps
        following = np.concatenate([steps["obs"][1:], np.asarray(obs, np.float32)[None]])
        parts = (steps["obs"], steps["act"], following, steps["reward"], steps["done"])
        self._stack.add(np.concatenate(parts, axis=1))
