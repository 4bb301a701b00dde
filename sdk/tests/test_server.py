"""The parameter server as a process: checkpoints, common moves, real sockets, wrong arguments."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.errors import BadAddress, BadCheckpoint
from olaf.policies import Periodic, Plain, RewardGated, Synchronous
from olaf.server.model import RESERVED
from olaf.transport import wire
from olaf.transport.segments import Segments, payload
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import SERVER, Lossy, vector, weights_of, worker_address

AT = f"{SERVER[0]}:{SERVER[1]}"


def workers_of(network: VirtualNetwork, count: int, values: int = 10) -> list[Worker]:
    made = [Worker(AT, values, port=network.port(worker_address(n)), seed=n) for n in range(count)]
    for worker in made:
        worker.begin(np.zeros(values, np.float32))
        assert worker.wait(5.0)
        worker.poll()
    return made


def test_members_of_a_common_move_receive_the_new_weights() -> None:
    network = VirtualNetwork(Lossy())
    server = ParameterServer(policy=partial(Synchronous, rate=1.0, workers=3), port=network.port(SERVER))
    workers = workers_of(network, 3)
    for number, worker in enumerate(workers):
        worker.offer(np.full(10, number, np.float32), 0.0)
        network.run(network.time + 0.1)
    for worker in workers:
        (block,) = worker.poll()
        assert block.values.tolist() == [1.0] * 10
        assert block.version == 1
    assert server.counters().collected == 2


def test_each_move_is_answered_once_behind_an_ack_copier() -> None:
    network = VirtualNetwork(Lossy())
    ParameterServer(policy=partial(Synchronous, workers=2), port=network.port(SERVER), multicast=True)
    workers = workers_of(network, 2)
    for worker in workers:
        worker.offer(np.ones(10, np.float32), 0.0)
        network.run(network.time + 0.1)
    assert [worker.counters.acks for worker in workers] == [1, 1]


def test_clusters_and_workers_are_assigned_while_it_serves() -> None:
    network = VirtualNetwork(Lossy())
    server = ParameterServer(policy="plain", members={}, epochs={"red": 0}, port=network.port(SERVER))
    address = worker_address(0)
    worker = Worker(AT, 10, port=network.port(address))
    worker.begin(np.zeros(10, np.float32))
    assert not worker.wait(1.0)  # a stranger's frames are ignored
    server.assign({address[0]: "red"}, {"red": 0, "blue": 3})
    assert worker.wait(5.0)
    worker.offer(np.ones(10, np.float32), 0.0)
    network.run(network.time + 0.1)
    assert (server.clusters, server.counters("red").applied) == (("red", "blue"), 1)
    server.assign({address[0]: "red"}, {"red": 1})  # another job: its weights are forgotten
    assert (server.clusters, server.weights("red")) == (("red",), None)
    worker.offer(np.ones(10, np.float32), 0.0)
    network.run(network.time + 0.1)
    assert (server.counters("red").applied, server.counters("red").other_epoch) == (1, 1)


def test_a_period_that_ends_by_time_is_answered_too() -> None:
    network = VirtualNetwork(Lossy())
    ParameterServer(policy=partial(Periodic, rate=1.0, seconds=0.5), port=network.port(SERVER))
    (worker,) = workers_of(network, 1)
    worker.offer(np.ones(10, np.float32), 0.0)
    network.run(network.time + 0.4)
    assert worker.poll() == []
    network.run(network.time + 0.2)
    assert worker.poll()[0].values.tolist() == [1.0] * 10


def test_a_refused_update_is_answered_with_the_weights() -> None:
    network = VirtualNetwork(Lossy())
    server = ParameterServer(port=network.port(SERVER))
    (worker,) = workers_of(network, 1)
    worker.offer(np.ones(10, np.float32), 100.0)
    worker.offer(np.ones(10, np.float32), -100.0)
    network.run(network.time + 1.0)
    assert server.counters().refused == 1
    assert worker.counters.acks == 2


@pytest.mark.parametrize("reward", [np.inf, np.nan])
def test_a_reward_that_is_not_finite_does_not_close_the_gate(reward: float) -> None:
    """The global reward is an average of all: one that is infinite would refuse every later update."""
    network = VirtualNetwork(Lossy())
    server = ParameterServer(port=network.port(SERVER))
    (worker,) = workers_of(network, 1)
    update = wire.Olaf(wire.VERSION, wire.FrameType.UPDATE, 0, 0, 1, 1, reward, 0, 0, 0)
    network.port(worker_address(1)).send(SERVER, update.pack(), payload(np.ones(10, np.float32)))
    network.run(network.time + 0.1)
    worker.offer(np.ones(10, np.float32), 5.0)
    network.run(network.time + 0.1)
    assert (server.counters().unusable, server.counters().applied, worker.counters.acks) == (1, 1, 1)


def test_a_checkpoint_continues_with_versions_never_given_out(tmp_path: Path) -> None:
    place = tmp_path / "lander.npz"
    network = VirtualNetwork(Lossy())
    server = ParameterServer(policy="olaf", port=network.port(SERVER), checkpoint=place, every=1.0)
    (worker,) = workers_of(network, 1, values=800)
    for step in range(10):
        worker.offer(vector(800, step), 10.0 + step)
        network.run(network.time + 0.01)
    network.run(network.time + 2.0)
    worker.offer(vector(800, 77), 1e6)
    network.run(network.time + 0.1)
    given_out = server.versions()
    server._port.close()  # killed: nothing is written any more
    again = ParameterServer(policy="olaf", port=network.port(SERVER), checkpoint=place)
    assert again.versions() == [10 + RESERVED] * worker.segments.count
    assert max(given_out) == 11
    worker.poll()
    worker.offer(vector(800, 78), 1e7)
    network.run(network.time + 1.0)
    newest = np.concatenate([block.values for block in worker.poll()])
    assert np.array_equal(newest, weights_of(again))
    again._port.close()
    third = ParameterServer(policy="olaf", port=network.port(SERVER), checkpoint=place)
    assert third.versions() == [10 + 2 * RESERVED] * worker.segments.count


def test_versions_beyond_the_reserve_are_saved_first(tmp_path: Path) -> None:
    place = tmp_path / "model.npz"
    network = VirtualNetwork(Lossy())
    server = ParameterServer(
        policy=partial(Plain, rate=0.0), port=network.port(SERVER), checkpoint=place, every=1e9
    )
    (worker,) = workers_of(network, 1)
    for number in range(RESERVED + 10):
        worker.offer(np.zeros(10, np.float32), 0.0)
        if number % 100 == 0:  # what is not answered yet is bounded
            network.run(network.time + 0.1)
    network.run(network.time + 10.0)
    assert server.versions() == [RESERVED + 10]
    server._port.close()
    again = ParameterServer(policy=partial(Plain, rate=0.0), port=network.port(SERVER), checkpoint=place)
    assert again.versions()[0] > RESERVED + 10


def test_a_checkpoint_of_another_epoch_is_another_jobs(tmp_path: Path) -> None:
    place = tmp_path / "model.npz"
    network = VirtualNetwork(Lossy())
    first = ParameterServer(
        port=network.port(SERVER),
        checkpoint=place,
        initial={"default": (Segments(3, 1), np.ones(3, np.float32))},
    )
    first.close()
    second = ParameterServer(port=network.port(SERVER), checkpoint=place, epochs={"default": 1})
    assert second.versions() == []


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, damage: bytes | None) -> None:
    place = tmp_path / "model.npz"
    network = VirtualNetwork(Lossy())
    initial = {"default": (Segments(3, 1), np.ones(3, np.float32))}
    ParameterServer(port=network.port(SERVER), checkpoint=place, initial=initial).close()
    place.write_bytes(place.read_bytes()[:-30] if damage is None else damage)
    with pytest.raises(BadCheckpoint, match=r"model\.npz"):
        ParameterServer(port=network.port(SERVER), checkpoint=place)


def test_a_checkpoint_of_another_policy_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "model.npz"
    network = VirtualNetwork(Lossy())
    initial = {"default": (Segments(3, 1), np.ones(3, np.float32))}
    ParameterServer(policy="plain", port=network.port(SERVER), checkpoint=place, initial=initial).close()
    with pytest.raises(BadCheckpoint, match=RewardGated.__name__):
        ParameterServer(policy="olaf", port=network.port(SERVER), checkpoint=place)


def test_a_place_that_cannot_be_written_does_not_stop_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    network = VirtualNetwork(Lossy())
    server = ParameterServer(port=network.port(SERVER), checkpoint=tmp_path / "no" / "such" / "folder.npz")
    (worker,) = workers_of(network, 1)
    for number in range(1, 4):
        worker.offer(np.ones(10, np.float32), float(number))
        network.run(network.time + 0.1)
    assert server.counters().applied == worker.counters.acks == 3
    assert caplog.text.count("could not be written") == 1, "nor does it try at each update"


SERVE = """
import sys, time
from functools import partial
from olaf import ParameterServer
from olaf.policies import Plain
listen, policy = "127.0.0.1:" + sys.argv[1], partial(Plain, rate=1.0)
server = ParameterServer(listen, policy=policy, checkpoint=sys.argv[2], every=0.05)
print(server.address[1], flush=True)
time.sleep(600)
"""


def serve(port: int, place: Path) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port), str(place)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_training_survives_kill_9_of_the_server(tmp_path: Path) -> None:
    place = tmp_path / "model.npz"
    process, port = serve(0, place)
    worker = Worker(f"127.0.0.1:{port}", 1000, local="127.0.0.1:0")
    try:
        worker.begin(np.zeros(1000, np.float32))
        assert worker.wait(20.0)
        train_until(worker, lambda: place.exists() and np.load(place)["0/weights"].min() > 1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = worker._received.version_of(0) or 0
        for _ in range(100):  # no one is there: nothing blocks, nothing is raised
            worker.offer(np.ones(1000, np.float32), 1.0)
        process, _ = serve(port, place)
        train_until(worker, lambda: (worker._received.version_of(0) or 0) > before)
        newest = worker.poll()[0]
        assert newest.values.min() > 1
        assert newest.version >= RESERVED
    finally:
        process.kill()
        process.wait()
        worker.close()


def train_until(worker: Worker, condition: object) -> None:
    """Offer updates at the pace they are answered, until the condition holds."""
    for _ in range(2000):
        acks = worker.counters.acks
        worker.offer(np.ones(1000, np.float32), 1.0)
        worker._port.wait(lambda: worker.counters.acks > acks, 0.05)  # noqa: B023
        if condition():  # type: ignore[operator]
            return
    raise AssertionError("it never held")


def test_the_longest_models_pass_real_sockets() -> None:
    server = ParameterServer("127.0.0.1:0", policy=partial(Plain, rate=1.0))
    worker = Worker(f"127.0.0.1:{server.address[1]}", 137_477, mtu=9022, local="127.0.0.1:0")
    try:
        worker.begin(vector(137_477))
        assert worker.wait(20.0)
        got = np.zeros(137_477, np.float32)
        for block in worker.poll():
            got[block.place] = block.values
        assert np.array_equal(got, vector(137_477))
    finally:
        worker.close()
        server.close()


def test_wrong_arguments_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="olaf, synchronous, periodic, plain"):
        ParameterServer("127.0.0.1:0", policy="best")
    with pytest.raises(BadAddress, match="not an address"):
        ParameterServer("127.0.0.1:port")
    with pytest.raises(BadAddress, match="no cluster"):
        Worker("olaf://engine", 10)
    first = ParameterServer("127.0.0.1:0")
    try:
        with pytest.raises(OSError, match="cannot bind UDP 127"):
            ParameterServer(f"127.0.0.1:{first.address[1]}")
    finally:
        first.close()
