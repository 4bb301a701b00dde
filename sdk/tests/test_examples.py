"""The example scripts: how little Olaf changes in one, and that they run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from olaf import ParameterServer
from olaf.policies import Plain, Stellaris
from olaf.transport.udp import UdpPort
from tests.engines import EnginePort, QueueEngine
from tests.testnet import free_tcp_ports, weights_of

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHORT = ["--total-steps", "512", "--steps", "64", "--envs", "4"]


def test_the_readme_shows_the_few_lines_without_which_the_script_trains_alone(tmp_path: Path) -> None:
    script = (EXAMPLES / "ppo_lunarlander.py").read_text().splitlines()
    olafs = [line for line in script if re.search(r"\b(olaf|link)\b", line)]
    shown = re.search(r"```diff\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert shown is not None
    assert shown[1].splitlines() == [f"+{line}" for line in olafs] and len(olafs) <= 5
    lunar_lander()
    alone = tmp_path / "alone.py"
    alone.write_text("\n".join(line for line in script if line not in olafs))
    said = subprocess.run([sys.executable, str(alone), *SHORT], capture_output=True, text=True, check=True)
    assert said.stdout.count("iteration") == 2


def run_example(script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / script), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def lunar_lander() -> None:
    gym = pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    try:
        gym.make("LunarLander-v3")
    except gym.error.DependencyNotInstalled as missing:
        pytest.skip(str(missing))


def test_the_script_trains_through_a_server() -> None:
    lunar_lander()
    server = ParameterServer("127.0.0.1:0", policy=partial(Plain, rate=0.001))
    script = run_example("ppo_lunarlander.py", *SHORT, "--server", f"127.0.0.1:{server.address[1]}")
    try:
        output, _ = script.communicate(timeout=120)
        assert output.count("iteration") == 2
        segments = len(server.versions())
        assert segments == 28
        assert server._port.wait(lambda: server.counters().received == 2 * segments, 10)
        assert len(weights_of(server)) == 9797
    finally:
        script.kill()
        script.wait()
        server.close()


@pytest.mark.parametrize("loss", ["ppo", "impact"])
def test_learners_without_state_train_through_stellaris(loss: str) -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    policy = partial(Stellaris, rate=1e-3, round=8, workers=2, optimizer="adam", deadline=0.1)
    server = ParameterServer("127.0.0.1:0", policy=policy)
    learner = ("ppo_stellaris.py", *SHORT, "--loss", loss, "--server", f"127.0.0.1:{server.address[1]}")
    ports = free_tcp_ports(2)
    learners = [
        run_example(*learner, "--seed", str(seed), OLAF_LOCAL=f"127.0.0.1:{ports[seed]}") for seed in (0, 1)
    ]
    try:
        outputs = [each.communicate(timeout=120)[0] for each in learners]
        assert [output.count("iteration") for output in outputs] == [2, 2]
        counters, segments = server.counters(), len(server.versions())
        assert counters.staleness.updates == counters.updates == 2 * 2 * 4 * segments
        assert min(server.versions()) > 0
    finally:
        for each in learners:
            each.kill()
            each.wait()
        server.close()


def test_the_synchronous_script_sums_in_the_engine() -> None:
    lunar_lander()
    port = UdpPort(("127.0.0.1", 0))
    engine = QueueEngine(port.address, members=2, segments=4)
    EnginePort(engine, port)
    (store,) = free_tcp_ports(1)
    ranks = [
        run_example(
            "ppo_synchronous.py",
            *SHORT,
            OLAF_ADDRESS=f"olaf://lander@127.0.0.1:{port.address[1]}",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(store),
            WORLD_SIZE="2",
            RANK=str(rank),
        )
        for rank in range(2)
    ]
    try:
        outputs = [rank.communicate(timeout=120)[0] for rank in ranks]
        assert [rank.returncode for rank in ranks] == [0, 0]
        assert outputs[0].count("iteration") == 2
        assert engine.seen["merged"] >= 2 * 16 * 28
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
        port.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")
@pytest.mark.parametrize("shares", [["--actors-only"], []], ids=["actors", "all networks"])
def test_agents_of_one_script_train_in_a_cluster_each(shares: list[str]) -> None:
    pytest.importorskip("torch")
    addresses = [f"127.0.1.{number}" for number in range(1, 5)]
    members = {address: f"agent{number}" for number, address in enumerate(addresses)}
    server = ParameterServer("127.0.0.1:0", policy=Plain, members=members)
    short = [
        "--game",
        "tag",
        "--episodes",
        "24",
        "--rows",
        "4000",
        "--warm-up",
        "64",
        "--batch",
        "64",
        *shares,
    ]
    where = ["--server", f"127.0.0.1:{server.address[1]}", "--udp-port", "0", "--addresses", *addresses]
    script = run_example("maddpg.py", *short, *where)
    try:
        output, _ = script.communicate(timeout=120)
        assert (script.returncode, output.count("returns")) == (0, 1)
        sizes = {len(weights_of(server, cluster)) for cluster in members.values()}
        assert sizes == ({5573, 5445} if shares else {5573 + 9537, 5445 + 9537})
        for cluster in members.values():
            assert server.counters(cluster).applied > 0
    finally:
        script.kill()
        script.wait()
        server.close()


def test_one_player_in_step_repeats_from_its_seed() -> None:
    pytest.importorskip("torch")
    options = ("--players", "1", "--way", "synchronous", "--steps", "3", "--json")
    scripts = [run_example("grpo_tiny.py", *options) for _ in range(2)]
    try:
        reports = [json.loads(each.communicate(timeout=300)[0]) for each in scripts]
        first, again = (each["reward"] for each in reports)
        assert first == again and len(set(first)) == 3
        assert all(each["staleness"] == {"0": 3} and not each["refused"] for each in reports)
        assert max(reports[0]["trivial"].values()) == pytest.approx(0.2)
    finally:
        for each in scripts:
            if each.poll() is None:
                each.send_signal(signal.SIGINT)  # it ends its players
            each.wait()
