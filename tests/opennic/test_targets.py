"""The builds of the targets opennic and opennic-sim, and the card's agent killed and started again.

A simulated card replaces the real one; building it takes some minutes, so only where OLAF_BOX is set.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.control import devices
from olafctl.control.deploy import build_testbed, deploy_testbed
from olafctl.control.desired import desired_state
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.targets import processes, registry, testbeds
from olafctl.targets.interface import Running
from olafctl.targets.opennic.target import CARD
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.p4runtime.session import Change, EntityUpdate

TWO_PORTS = """\
name: card
engine: {indices: 16, slots: 8, beats: 142}
ports:
  - {number: 1, name: workers, transport: unix}
  - {number: 2, name: ps, transport: unix}
parameter_servers:
  - {name: ps, port: ps, ip: 10.0.0.254}
clusters:
  - {count: 2, workers: 3, name: red, ports: 1-1, ip: 10.0.1.1}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "s"))
    return tmp_path / "s"


def bed_for(target: str, text: str = TWO_PORTS) -> Testbed:
    return testbeds.load_testbed("card.yaml", f"target: {target}\n{text}")


def ignore_step(step: str) -> None:
    pass


def test_both_are_targets() -> None:
    assert {"opennic", "opennic-sim"} <= set(registry.target_names())


def test_the_target_can_be_given_instead_of_the_testbeds_own(tmp_path: Path) -> None:
    path = tmp_path / "card.yaml"
    for text in (TWO_PORTS, f"target: bmv2\n{TWO_PORTS}"):
        path.write_text(text)
        assert testbeds.load_testbed(path, target="opennic").target == "opennic"


def test_the_build_says_what_comes_next_and_on_which_machine() -> None:
    made = build_testbed(bed_for("opennic"), ignore_step)
    assert {"run.tcl", "manifest.json", "agent", "hdl"} <= {each.name for each in made.folder.iterdir()}
    assert "the licence cmac_usplus" in made.next_steps and "sdnet_p4" not in made.next_steps
    assert f"vivado -mode batch -source {made.folder / 'run.tcl'}" in made.next_steps
    assert "on a machine with Vivado 2023.2 (or 2023.1 or later)" in made.next_steps
    assert "on the card's host" in made.next_steps


def test_vitisnetp4_can_be_built_and_is_not_deployed() -> None:
    text = f"blocks: vitisnetp4\n{TWO_PORTS}"
    made = build_testbed(bed_for("opennic", text), ignore_step)
    assert (made.folder / "ips.tcl").is_file()
    assert "the licences sdnet_p4, hcam_base, cmac_usplus" in made.next_steps
    assert "deploy" not in made.next_steps
    for target in ("opennic", "opennic-sim"):
        with pytest.raises(OlafError, match=r"vitisnetp4 can be built, not deployed.*blocks: rtl"):
            deploy_testbed(bed_for(target, text), ignore_step)


def test_a_program_outside_of_the_subset_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    from olafctl.targets import p4_sources

    sources = p4_sources.render_sources(bed_for("opennic"))
    divided = sources["identify.p4"].replace(
        "meta.punt = 1;", "meta.punt = 1; meta.size = meta.size / meta.src;"
    )
    monkeypatch.setattr(p4_sources, "render_sources", lambda _: {**sources, "identify.p4": divided})
    with pytest.raises(OlafError, match=r"identify\.p4:\d+"):
        build_testbed(bed_for("opennic"), ignore_step)


def test_an_unnamed_card_and_missing_ports_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CARD, raising=False)
    more = TWO_PORTS.replace("parameter_servers:", "  - {number: 3, name: third}\nparameter_servers:")
    with pytest.raises(OlafError, match=r"no card is named.*\n.*3 front ports, the card 2"):
        deploy_testbed(bed_for("opennic", more), ignore_step)


@pytest.fixture
def simulated() -> Iterator[Running]:
    """Provide the testbed on a simulated card."""
    bed = bed_for("opennic-sim")
    deploy_testbed(bed, ignore_step)
    store = Store(folder_of(bed.name))
    try:
        running = registry.get_target("opennic-sim").find(bed, store.folder)
        assert running is not None
        yield running
    finally:
        destroy_deployment(store)


def agent_of(state: Path) -> int:
    """Return the process id of the deployment's agent."""
    [agent] = [
        process.pid
        for process in processes.find_processes(state / "card")
        if process.cmdline()[2:3] == ["olafctl.targets.opennic.process"]
    ]
    return agent


@pytest.mark.slow
def test_after_a_kill_amid_a_write_a_deploy_repairs_the_tables(simulated: Running, state: Path) -> None:
    bed = bed_for("opennic-sim")
    with devices.control_devices(simulated) as sessions:
        extra = [
            EntityUpdate(Change.INSERT, TableEntry("bridging", {"dst_mac": number}, "forward", {"port": 1}))
            for number in range(1, 400)
        ]
        sessions["vnp4_2"].write(extra[:20])
        os.kill(agent_of(state), signal.SIGKILL)
        with pytest.raises(OlafError):
            sessions["vnp4_2"].write(extra[20:])
    deploy_testbed(bed, ignore_step)
    running = registry.get_target("opennic-sim").find(bed, state / "card")
    assert running is not None
    with devices.watch_devices(running) as sessions:
        devices.verify_state(running, sessions, desired_state(bed))
        assert len(sessions["vnp4_2"].entries("bridging")) == len(bed.workers) + 2


@pytest.mark.slow
def test_opennic_drives_its_own_build_and_refuses_another(
    simulated: Running, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulated card's agent is ended; the target opennic takes its place."""
    folder = state / "card"
    os.kill(agent_of(state), signal.SIGKILL)
    monkeypatch.setenv(CARD, str(folder))
    bed = bed_for("opennic", TWO_PORTS.replace("name: card", "name: real"))
    outcome = deploy_testbed(bed, ignore_step)
    store = Store(folder_of("real"))
    try:
        assert outcome.started and outcome.changes.size > 0
        running = registry.get_target("opennic").find(bed, store.folder)
        assert running is not None and running.alive()
        assert [link["up"] for link in running.stats()["card"]["links"]] == [True, True]
    finally:
        destroy_deployment(store)
    other = bed_for("opennic", TWO_PORTS.replace("name: card", "name: real").replace("slots: 8", "slots: 4"))
    with pytest.raises(OlafError, match=r"the card runs build \w{8}, the folder .* is of build"):
        deploy_testbed(other, ignore_step)
