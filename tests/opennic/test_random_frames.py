"""Random frames pass through the whole box; `olaflab bench box --frames` sends more."""

from olaftest.opennic.random_frames import account_frames


def test_every_frame_is_accounted_for() -> None:
    done = account_frames(frames=1100, seed=3)
    assert done.frames == 1100
    assert done.copies > 900
    assert done.resets == 1 and done.lost_links == 1 and done.rewritten > 2
    assert done.bad > 10
