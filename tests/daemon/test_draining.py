"""Indices of a deleted cluster are free again when none of its updates waits."""

from olafctl.daemon.settling import Draining


def make_queue(out: int, waiting: int, accumulating: int = 0, engine: str = "e") -> dict[str, dict[str, int]]:
    counted = {"out_updates": out, "occupancy": waiting + accumulating, "accumulating": accumulating}
    return {engine: counted}


def test_what_waited_has_left_when_as_many_have() -> None:
    draining = Draining()
    assert draining.find_freed([(4, 2)], make_queue(100, 3)) == []
    assert draining.find_freed([(4, 2)], make_queue(102, 3)) == []
    assert draining.find_freed([(4, 2), (8, 1)], make_queue(103, 2)) == [(4, 2)]
    assert draining.find_freed([(8, 1)], make_queue(105, 2)) == [(8, 1)]


def test_an_empty_queue_frees_at_once_whatever_accumulates() -> None:
    assert Draining().find_freed([(0, 1)], make_queue(7, 0, accumulating=2)) == [(0, 1)]


def test_of_several_engines_every_queue_must_have_let_it_go() -> None:
    draining = Draining()

    def both(low: int, top: int, waits: int) -> list[tuple[int, int]]:
        return draining.find_freed(
            [(0, 1)], make_queue(low, waits, engine="low") | make_queue(top, waits, engine="top")
        )

    assert both(10, 20, waits=2) == []
    assert both(12, 20, waits=2) == []
    assert both(12, 21, waits=2) == []
    assert both(13, 22, waits=2) == [(0, 1)]


def test_counters_that_were_cleared_begin_the_rest_again() -> None:
    draining = Draining()
    assert draining.find_freed([(0, 1)], make_queue(50, 1)) == []
    assert draining.find_freed([(0, 1)], make_queue(0, 2)) == []
    assert draining.find_freed([(0, 1)], make_queue(1, 2)) == []
    assert draining.find_freed([(0, 1)], make_queue(2, 1)) == [(0, 1)]
