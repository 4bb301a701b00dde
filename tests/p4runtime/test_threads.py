"""The server has as many threads as it needs, but no more than it may."""

import threading

import pytest

from olafswitch.p4runtime.agent.server import DaemonPool


def test_work_is_done_by_as_many_threads_as_needed() -> None:
    pool = DaemonPool(3, "test_pool")
    meet = threading.Barrier(3)
    together = [pool.submit(meet.wait, 10) for _ in range(3)]
    assert sorted(future.result(10) for future in together) == [0, 1, 2]
    names = {pool.submit(lambda: threading.current_thread().name).result(10) for _ in range(20)}
    assert names <= {"test_pool_1", "test_pool_2", "test_pool_3"}
    assert [pool.submit(lambda n=n: n * n).result(10) for n in range(9)] == [n * n for n in range(9)]
    pool.shutdown()


def test_a_failure_is_its_callers() -> None:
    pool = DaemonPool(1, "test_pool")
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result(10)
    assert pool.submit(lambda: 5).result(10) == 5
    last = pool.submit(lambda: 6)
    pool.shutdown()
    assert last.result(10) == 6
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(lambda: 7)
