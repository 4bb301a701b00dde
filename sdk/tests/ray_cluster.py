"""A cluster of Ray on this machine, for a module's tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ATTEMPTS = 5


@contextmanager
def start_ray(processors: int) -> Iterator[None]:
    """Start Ray, again where a busy machine took longer than the 30 s that Ray gives its own start."""
    ray = pytest.importorskip("ray")
    environment = {"env_vars": {"PYTHONPATH": str(Path(__file__).parents[1])}}
    for attempt in range(ATTEMPTS):
        try:
            ray.init(
                num_cpus=processors,
                include_dashboard=False,
                log_to_driver=False,
                runtime_env=environment,
            )
            break
        except Exception as error:
            # Ray raises the base class here.
            ray.shutdown()
            if "timed out during startup" not in str(error) or attempt == ATTEMPTS - 1:
                raise
    yield
    ray.shutdown()
