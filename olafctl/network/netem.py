"""Impairments of a link, by the kernel's netem: frames late, unevenly late, or lost."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from olafctl.network import ip, trial
from olafswitch.errors import OlafError

_LIMIT = 1_000_000
"""The frames that may be on their way: netem drops further frames, which would be an additional loss."""


@dataclass(frozen=True)
class Impairment:
    """The impairment of each frame, each way."""

    delay: int
    """The delay in ns."""
    jitter: int
    """The ns that the delay may be longer or shorter; frames may overtake each other then."""
    loss: float
    """The fraction of frames that are lost, 0 … 1."""


@cache
def why_not() -> str | None:
    """Return why links cannot be impaired here, or None when they can."""
    if not ip.is_installed("tc"):
        return "the program `tc` (package iproute2) is not installed"
    try:
        with trial.trial_namespace() as name:
            ip.run_ip(["-n", name, *_netem_words("lo", Impairment(0, 0, 0.0))], program="tc")
    except OlafError as error:
        return f"the kernel has no netem (CONFIG_NET_SCH_NETEM): {error.problems[0].what}"
    return None


def impair_interface(state: Path, interface: str, namespace: str | None, impairment: Impairment) -> None:
    """Impair the frames that leave ``interface`` of the deployment in ``state``. Raises OlafError."""
    inside = ["-n", namespace] if namespace else []
    ip.run_ip([*inside, *_netem_words(interface, impairment)], state, "tc")


def _netem_words(interface: str, impairment: Impairment) -> list[str]:
    words = ["qdisc", "replace", "dev", interface, "root", "netem", "limit", str(_LIMIT)]
    if impairment.delay:
        words += ["delay", f"{impairment.delay / 1000:.3f}us", f"{impairment.jitter / 1000:.3f}us"]
    if impairment.loss:
        words += ["loss", f"{impairment.loss * 100:.6f}%"]
    return words
