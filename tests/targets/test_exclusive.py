"""A resource that a machine has once goes to one deployment; another is refused before it makes anything."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.network import claims, interfaces, ip
from olafctl.targets import processes, registry
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError
from olafswitch.ports.transport import Transport

from .conftest import LAPTOP, quietly, started

CARD = f"nic{os.getpid():x}"


def beds_sharing(kind: Transport, folder: Path) -> Sequence[Testbed]:
    """Return two testbeds that share their first port; the second names it otherwise, where possible."""
    (folder / "link").symlink_to(folder)
    first, second = {
        Transport.NIC: (CARD, CARD),
        Transport.UNIX: (f"{folder}/x.sock", f"{folder}/link/x.sock"),
        Transport.PCAP: (f"{folder}/a.pcap,{folder}/out.pcap", f"{folder}/b.pcap,{folder}/link/out.pcap"),
    }[kind]
    bed, found = load_testbed(LAPTOP), []
    for path in (first, second):
        others = [replace(port, transport=Transport.UNIX) for port in bed.ports[1:]]
        found.append(replace(bed, ports=(replace(bed.ports[0], transport=kind, path=path), *others)))
    return found


@pytest.mark.parametrize("kind", [Transport.NIC, Transport.UNIX, Transport.PCAP])
def test_second_deployment_on_one_resource_is_refused_until_the_first_is_killed(
    kind: Transport, tmp_path: Path
) -> None:
    if kind is Transport.NIC:
        if reason := interfaces.why_not():
            pytest.skip(reason)
        ip.run_ip(["link", "add", "name", CARD, "type", "veth", "peer", "name", f"{CARD}o"])
    one, two = beds_sharing(kind, tmp_path)
    target, first, second = registry.get_target("twin"), tmp_path / "first", tmp_path / "second"
    build = target.build(two, quietly)
    try:
        with started(one, "twin", first, programmed=False):
            assert not target.problems(one, first)
            with pytest.raises(OlafError, match=f"is taken by the deployment first in {tmp_path}"):
                target.start(two, build, second, quietly)
            assert not second.exists()
            for process in processes.of_engine(first):
                process.send_signal(signal.SIGKILL)
                process.wait(10)
            assert not target.problems(two, second)
    finally:
        if kind is Transport.NIC:
            ip.try_to(["link", "delete", "dev", CARD])


def test_claims_are_taken_all_or_none(tmp_path: Path) -> None:
    first, second = claims.Claims(), claims.Claims()
    first.take(["a", f"b{tmp_path}"])
    with pytest.raises(OlafError, match=rf"process {os.getpid()}"):
        second.take([f"c{tmp_path}", f"b{tmp_path}"])
    first.take([f"c{tmp_path}"])
    first.release()
    second.take([f"b{tmp_path}", f"c{tmp_path}"])
    second.release()
