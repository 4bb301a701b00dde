from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olaflab.training.replay import trace as traces
from olafswitch.errors import BadInput, OlafError
from tests.lab.training.replay import small


def test_a_trace_survives_its_file(tmp_path: Path) -> None:
    read = traces.load_trace(small.save_small(tmp_path))
    written = small.small_trace()
    for name in ("time", "reward", "norm", "steps", "accepted", "pool_index", "pool"):
        assert np.array_equal(getattr(read, name), getattr(written, name))
        assert getattr(read, name).dtype == getattr(written, name).dtype
    assert read.header == {"format": "olaf-trace", "version": 1, "seed": 7}
    assert (read.workers, read.updates, read.values) == (2, 4, 3)


def test_gradients_have_their_norm_and_pool_direction() -> None:
    gradients = small.small_trace().gradients(np.array([0, 0, 1]), np.array([0, 3, 2]), 3)
    assert gradients.dtype == np.float32
    assert np.allclose(np.linalg.norm(gradients, axis=1), [5, 20, 6], rtol=1e-6)
    assert np.allclose(gradients[1], [12, -16, 0], atol=20 / 127)
    assert np.allclose(gradients[2], [0, 0, 6], rtol=1e-6)


def test_cut_gradients_are_the_beginning_of_whole_ones() -> None:
    whole = small.small_trace().gradients(np.array([0]), np.array([1]), 3)
    assert np.array_equal(small.small_trace().gradients(np.array([0]), np.array([1]), 2), whole[:, :2])


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_quantising_keeps_directions_to_half_a_level(scale: float) -> None:
    gradient = (np.random.default_rng(1).standard_normal(100) * scale).astype(np.float32)
    levels = traces.quantise_gradient(gradient)
    assert np.abs(levels).max() == 127
    assert np.abs(levels - gradient * (127 / np.abs(gradient).max())).max() <= 0.5 + 1e-3


def test_a_gradient_of_nothing_stays_nothing() -> None:
    assert traces.quantise_gradient(np.zeros(3, dtype=np.float32)).any()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "times that fall": ({"time": np.array([[2, 1, 3, 4]] * 2)}, "times that do not rise"),
    "negative times": ({"time": np.array([[-1, 1, 3, 4]] * 2)}, "times that do not rise"),
    "a reward that is no number": ({"reward": np.full((2, 4), np.nan, np.float32)}, "not numbers"),
    "another shape": ({"norm": np.ones((2, 3), np.float32)}, "shape (2, 3), not (2, 4)"),
    "another type": ({"steps": np.ones((2, 4), np.float32)}, "2-dimensional int32"),
    "a pool index beyond": ({"pool_index": np.full((2, 4), 2, np.uint16)}, "gradients it does not hold"),
    "an empty direction": ({"pool": np.zeros((2, 3), np.int8)}, "gradients it does not hold"),
    "no updates": (
        {
            name: np.zeros((2, 0), kind)
            for name, kind in (
                ("time", np.int64),
                ("reward", np.float32),
                ("norm", np.float32),
                ("steps", np.int32),
                ("accepted", np.bool_),
                ("pool_index", np.uint16),
            )
        },
        "no updates",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_recording_holds_is_refused(tmp_path: Path, wrong: str) -> None:
    from dataclasses import replace

    changes, message = WRONG[wrong]
    traces.save_trace(replace(small.small_trace(), **changes), tmp_path / "wrong.npz")
    with pytest.raises(BadInput, match=r"wrong\.npz") as raised:
        traces.load_trace(tmp_path / "wrong.npz")
    assert message in str(raised.value)


def test_files_that_are_no_traces_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("PK no")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.save(tmp_path / "array.npy", np.ones(3))
    half = small.save_small(tmp_path).read_bytes()
    (tmp_path / "half.npz").write_bytes(half[: len(half) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("text.npz", "other.npz", "array.npy", "half.npz", "empty.npz"):
        with pytest.raises(BadInput, match="is not an Olaf trace"):
            traces.load_trace(tmp_path / name)
    with pytest.raises(BadInput, match="No such file"):
        traces.load_trace(tmp_path / "absent.npz")
    with pytest.raises(BadInput, match="directory"):
        traces.load_trace(tmp_path)


def test_another_version_is_named(tmp_path: Path) -> None:
    from dataclasses import replace

    traces.save_trace(replace(small.small_trace(), header={"version": 9}), tmp_path / "new.npz")
    with pytest.raises(BadInput, match="trace version 9, not 1"):
        traces.load_trace(tmp_path / "new.npz")


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OlafError, match="cannot write the trace"):
        traces.save_trace(small.small_trace(), tmp_path / "absent" / "t.npz")
    assert not list(tmp_path.iterdir())


def test_the_shipped_trace_is_the_papers_setup() -> None:
    shipped = traces.load_trace(small.SHIPPED)
    assert (shipped.workers, shipped.updates) == (27, 500)
    assert 64 + 4 * shipped.values <= 9036
    early, late = shipped.reward[:, :50].mean(), shipped.reward[:, -50:].mean()
    assert late > early + 100, "nothing was learned"
    assert small.SHIPPED.stat().st_size < 2_000_000
