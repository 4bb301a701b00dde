"""GRPO with a trainer and players apart: a small transformer learns to reverse digits, from random
weights.

    python grpo_tiny.py                    # one trainer, three players on this machine

Players play whatever version they adopted last and report it; the trainer refuses what is more than
``--max-lag`` versions old, weighs the rest by importance (``olaf.torch.importance``), and publishes every
step. ``--way full`` sends each version whole, ``--way synchronous`` has players wait for the version that
the trainer has just made; `olaflab bench players` compares the three.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import time
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import nn

import olaf
from olaf.torch.importance import clipped, truncated
from olaf.weights import TooStale

DIGITS, LENGTH = 5, 4
START = DIGITS
"""The token between question and answer."""
GROUP, PROMPTS = 16, 8
WAYS = ("deltas", "full", "synchronous")


class Transformer(nn.Module):
    """Two layers; its output layer is tied to the embedding."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.tokens = nn.Embedding(DIGITS + 1, width)
        self.places = nn.Embedding(2 * LENGTH + 1, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, DIGITS + 1, bias=False)
        self.out.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.1)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(2 * LENGTH + 1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, length, DIGITS) of the digit after each token of (n, length)."""
        length = tokens.shape[1]
        hidden = self.tokens(tokens) + self.places.weight[:length]
        mask = self.mask[:length, :length]
        return self.out(self.layers(hidden, mask=mask, is_causal=True))[..., :DIGITS]


def log_probs(model: Transformer, rows: torch.Tensor) -> torch.Tensor:
    """Return log π of each row's answer (n,); rows (n, 2·LENGTH + 1) are question, START, answer."""
    logits = model(rows[:, :-1])[:, LENGTH:]
    return logits.log_softmax(-1).gather(-1, rows[:, LENGTH + 1 :, None]).sum((1, 2))


def rewards(rows: torch.Tensor) -> torch.Tensor:
    """Compute the share of digits in the right place (n,): anyone can check it."""
    wanted = rows[:, :LENGTH].flip(1)
    return (rows[:, LENGTH + 1 :] == wanted).float().mean(1)


def trivial_rewards() -> dict[str, float]:
    """Score the answers that need no learning: one answer to every question, and the question itself."""
    digits = torch.cartesian_prod(*[torch.arange(DIGITS)] * LENGTH)
    start = torch.full((len(digits), 1), START)
    copied = float(rewards(torch.cat([digits, start, digits], 1)).mean())
    constant = max(
        float(rewards(torch.cat([digits, start, answer.expand_as(digits)], 1)).mean()) for answer in digits
    )
    return {"constant": constant, "copy": copied}


def play(model: Transformer, random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer each of PROMPTS questions GROUP times; return the rows and the logarithms of their
    probabilities."""
    questions = torch.randint(DIGITS, (PROMPTS, LENGTH), generator=random).repeat_interleave(GROUP, 0)
    rows = torch.cat([questions, torch.full((len(questions), 1), START)], 1)
    with torch.no_grad():
        for _ in range(LENGTH):
            chances = model(rows)[:, -1].softmax(-1)
            rows = torch.cat([rows, torch.multinomial(chances, 1, generator=random)], 1)
        return rows, log_probs(model, rows)


def player(number: int, publisher: str, way: str, max_lag: int, seed: int, samples: Any, done: Any) -> None:
    """Run a player's process: adopt between two batches, play, hand over."""
    torch.set_num_threads(1)
    random = torch.Generator().manual_seed(1000 * seed + number)
    model = Transformer()
    lost, began = 0.0, time.perf_counter()
    with olaf.Subscriber(publisher, model, dtype="bfloat16", max_lag=max_lag) as sub:
        played = 0
        while not done.is_set():
            waited = time.perf_counter()
            try:
                sub.adopt()
            except TooStale:
                sub.wait(0.1)
                lost += time.perf_counter() - waited
                continue
            if not sub.version or (way == "synchronous" and sub.version == played):
                sub.wait(0.1)
                lost += time.perf_counter() - waited
                continue
            lost += time.perf_counter() - waited
            played = sub.version
            rows, behaviour = play(model, random)
            while not done.is_set():
                try:
                    samples.put((played, rows.numpy(), behaviour.numpy()), timeout=0.2)
                    break
                except queue.Full:
                    continue
    done.wait()
    samples.put(("lost", lost / (time.perf_counter() - began)))


def train(players: int, steps: int, way: str, max_lag: int, seed: int, rate: float) -> dict[str, Any]:
    """Train once; return reward by step, bytes sent, shares of play that were lost, samples by staleness."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = Transformer()
    optimizer = torch.optim.Adam(model.parameters(), rate)
    context = multiprocessing.get_context("spawn")
    samples, done = context.Queue(players), context.Event()
    curve: list[float] = []
    ages: Counter[int] = Counter()
    refused = 0
    with olaf.Publisher(
        "127.0.0.1", model, dtype="bfloat16", max_lag=max_lag, multicast=False, whole=way == "full"
    ) as publisher:
        arguments = (publisher.address, way, max_lag, seed, samples, done)
        crew = [context.Process(target=player, args=(n, *arguments), daemon=True) for n in range(players)]
        for one in crew:
            one.start()
        version = publisher.publish()
        waiting = [_next(samples, crew)]  # so players are there
        began = time.perf_counter()
        while len(curve) < steps:
            made, *arrays = waiting.pop() if waiting else _next(samples, crew)
            rows, behaviour = map(torch.from_numpy, arrays)
            age = version - made
            if age > (0 if way == "synchronous" else max_lag):
                refused += 1
                continue
            ages[age] += 1
            reward = rewards(rows)
            groups = reward.view(PROMPTS, GROUP)
            advantages = (
                (groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)
            ).view(-1)
            ratio = truncated(log_probs(model, rows), behaviour, rho=2.0)
            optimizer.zero_grad()
            clipped(ratio, advantages, 0.5).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            version = publisher.publish()
            curve.append(float(reward.mean()))
        seconds, sent = time.perf_counter() - began, publisher.sent
    done.set()
    lost: list[float] = []
    while len(lost) < players:
        message = _next(samples, crew)
        if message[0] == "lost":
            lost.append(message[1])
    for one in crew:
        one.join()
    return {
        "way": way, "seed": seed, "seconds": seconds, "bytes": sent.bytes, "reward": curve,
        "end": float(np.mean(curve[-20:])), "lost": float(np.mean(lost)), "refused": refused,
        "staleness": {str(age): count for age, count in sorted(ages.items())},
        "trivial": trivial_rewards(),
    }  # fmt: skip


def _next(samples: Any, crew: list[Any]) -> Any:
    """Return a player's next message. Raises SystemExit when none comes because a player failed."""
    while True:
        try:
            return samples.get(timeout=1.0)
        except queue.Empty:
            if any(one.exitcode for one in crew):
                raise SystemExit("a player failed; its error is above") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--max-lag", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-3, help="the learning rate")
    parser.add_argument("--way", choices=WAYS, default="deltas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = train(options.players, options.steps, options.way, options.max_lag, options.seed, options.rate)
    if options.json:
        print(json.dumps(report))
        return
    curve = [round(float(np.mean(part)), 2) for part in np.array_split(report["reward"], 8)]
    print(
        f"{options.way}: reward {curve}, {report['seconds']:.1f} s, {report['bytes'] / 1e6:.1f} MB, "
        f"{report['lost']:.0%} of play lost, {report['refused']} batches refused, "
        f"versions old: {report['staleness']}; trivial answers score {max(report['trivial'].values()):.2f}"
    )


if __name__ == "__main__":
    main()
