"""Age-of-Model objectives as a cluster is created with them."""

from olafctl.errors import BadInput, Problem
from olafctl.testbed.model import Testbed
from olafctl.verify.question import parse


def check_objective(text: str, period: int, testbed: Testbed) -> None:
    """Raises BadInput for an objective that can never be verified."""
    if not text:
        return
    if len(testbed.engines) > 1:
        what = f"{text!r} cannot be proven: the verifier knows one queue, and updates pass several here"
        raise BadInput(Problem(what, "objective", "leave it out; `olafctl simulate` shows ages over a tree"))
    parse.objective(text)
    if not period:
        raise BadInput(Problem("is missing", "period", "say how often each worker sends, in ns"))
    if testbed.root.output_rate is None:
        what = f"{text!r} is about a queue, but the engine's output has no rate"
        raise BadInput(Problem(what, "objective", "give the engine an output_rate"))
