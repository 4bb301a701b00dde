"""Programs in threads take turns in virtual time."""

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.transport.virtual import VirtualNetwork

from olaflab.training.cosim.medium import Script


def test_only_one_runs_and_time_passes_where_they_sleep() -> None:
    network = VirtualNetwork()
    times: list[tuple[str, float]] = []

    def program(name: str, pause: float) -> Script:
        def run_program(script: Script) -> None:
            for _ in range(3):
                times.append((name, network.time))
                script.sleep(pause)
            times.append((name, network.time))

        return Script(network, run_program)

    slow, fast = program("slow", 1.0), program("fast", 0.4)
    slow.begin(0.0)
    fast.begin(0.1)
    assert network.run(stop=lambda: slow.done and fast.done)
    assert [name for name, _ in times] == ["slow", "fast", "fast", "fast", "slow", "fast", "slow", "slow"]
    assert [time for name, time in times if name == "slow"] == [0.0, 1.0, 2.0, 3.0]
    assert [time for name, time in times if name == "fast"] == pytest.approx([0.1, 0.5, 0.9, 1.3])


def test_a_program_may_wait_for_the_simulation_itself() -> None:
    network = VirtualNetwork()
    seen: list[float] = []

    def run_program(script: Script) -> None:
        network.run(stop=lambda: network.time >= 0.5)
        seen.append(network.time)
        script.sleep(0.25)
        seen.append(network.time)

    for time in range(10):
        network.at(time / 10, lambda: None)
    script = Script(network, run_program)
    script.begin(0.0)
    network.run(stop=lambda: script.done)
    assert seen == [0.5, 0.75]


def test_what_a_program_raises_ends_the_simulation() -> None:
    network = VirtualNetwork()

    def run_program(script: Script) -> None:
        script.sleep(1.0)
        raise ZeroDivisionError("as programs do")

    script = Script(network, run_program)
    script.begin(0.0)
    with pytest.raises(ZeroDivisionError, match="as programs do"):
        network.run(stop=lambda: script.done)
    assert network.time == 1.0
    assert script.done
