"""Remains of a killed run are found and removed, also when its state folder is gone."""

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from olafctl.cli.destroy import command
from olafctl.control import orphans
from olafctl.control.deploy import deploy_testbed
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.network import interfaces, ip
from olafctl.targets import processes
from olafswitch.ports.namespace import HOME
from tests.control.conftest import bed, quietly

needs_interfaces = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


@needs_interfaces
def test_namespaces_are_removed_after_a_kill_without_a_folder(state: Path, tmp_path: Path) -> None:
    deploy_testbed(bed(tmp_path / "bed.yaml"), lambda step: None, with_hosts=True)
    folder = folder_of("laptop").resolve()
    for process in processes.find_processes(folder):
        process.kill()
    shutil.rmtree(state)
    assert len(interfaces.namespaces_of(folder)) > 1
    assert folder in orphans.find_orphans().orphans
    orphans.remove_orphan(folder)
    assert list(interfaces.left_of(folder)) == []
    assert folder not in orphans.find_orphans().orphans
    assert not state.exists()


def test_destroy_ends_processes_without_a_state_folder(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    folder = folder_of("laptop").resolve()
    shutil.rmtree(state)
    assert folder in orphans.find_orphans().orphans
    ours = orphans.Left([folder], [tmp_path / "its state/laptop"], ["olaf-x-000000"])
    monkeypatch.setattr(orphans, "find_orphans", lambda: ours)  # other tests' orphans belong to them
    done = CliRunner().invoke(command, ["--orphans"])
    assert done.exit_code == 0
    first, second, third = done.output.splitlines()
    assert first.endswith(str(folder))
    assert f"OLAF_STATE='{tmp_path}/its state' olafctl destroy --deployment laptop" in second
    assert "olaf-x-000000" in third
    assert list(processes.find_processes(folder)) == []


def test_a_deployment_with_state_elsewhere_is_not_an_orphan(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    folder = folder_of("laptop").resolve()
    assert folder not in orphans.find_orphans().elsewhere
    with monkeypatch.context() as patch:
        patch.setenv("OLAF_STATE", str(tmp_path / "other"))
        left = orphans.find_orphans()
        assert folder in left.elsewhere
        assert folder not in left.orphans
    destroy_deployment(Store(folder))


@needs_interfaces
def test_a_namespace_that_does_not_say_whose_it_is_stays(tmp_path: Path) -> None:
    name = interfaces.namespace_of(tmp_path / "stranger")
    ip.run_ip(["netns", "add", name])
    try:
        assert name in orphans.find_orphans().unknown
    finally:
        ip.run_ip(["netns", "delete", name])


@needs_interfaces
def test_a_killed_olafctl_s_trial_goes_with_the_next_destroy(state: Path, tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    name = f"olaf-try-{ended.pid}-0123abcd"
    ip.run_ip(["netns", "add", name])
    quietly(bed(tmp_path / "bed.yaml"))
    destroy_deployment(Store(folder_of("laptop")))
    assert not (HOME / name).exists()
