"""Links that are late or lossy, in the kernel's netem, and their refusal without netem."""

import os
import time
from pathlib import Path

import pytest

from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.network import interfaces, netem
from olafctl.targets import testbeds
from olafswitch.errors import BadInput
from tests.control.hosts.conftest import BED, bring_up, needs_interfaces, udp

IMPAIRED = ("name: right}", "name: right, impair: {delay: 20 ms, jitter: 1 ms, loss: 0.5 %}}")
LATE = ("name: right}", "name: right, impair: {delay: 50 ms}}")
TC_NOTED = """\
#!/bin/sh
printf '%s\\n' "$*" >> {notes}
"""


def test_an_impairment_is_read_with_its_units() -> None:
    ports = testbeds.load_testbed(BED, BED.read_text().replace(*IMPAIRED)).ports
    assert [port.impair for port in ports[:4]] == [None] * 4
    assert ports[4].impair == netem.Impairment(delay=20_000_000, jitter=1_000_000, loss=0.005)


@needs_interfaces
def test_both_ends_of_the_veth_are_impaired(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "tc"
    program.parent.mkdir()
    program.write_text(TC_NOTED.format(notes=tmp_path / "notes"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    netem.why_not.cache_clear()
    try:
        bring_up("lab", IMPAIRED, with_hosts=False)
    finally:
        netem.why_not.cache_clear()
    folder = folder_of("lab")
    text = "root netem limit 1000000 delay 20000.000us 1000.000us loss 0.500000%"
    seen = [line for line in (tmp_path / "notes").read_text().splitlines() if "olaf-try" not in line]
    assert seen == [
        f"qdisc replace dev {interfaces.interface_of(folder, 'p5')} {text}",
        f"-n {interfaces.namespace_of(folder)} qdisc replace dev right {text}",
    ]
    destroy_deployment(Store(folder))


@needs_interfaces
def test_without_netem_nothing_is_started(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netem, "why_not", lambda: "the kernel has no netem (CONFIG_NET_SCH_NETEM)")
    with pytest.raises(
        BadInput, match=r"port 5: cannot be impaired: the kernel has no netem .*take impair out"
    ):
        bring_up("lab", IMPAIRED)
    assert not folder_of("lab").exists()


@needs_interfaces
@pytest.mark.skipif(
    not interfaces.why_not() and bool(netem.why_not()), reason=str(interfaces.why_not() or netem.why_not())
)
def test_a_late_link_is_late(state: Path) -> None:
    bring_up("lab", LATE)
    folder = folder_of("lab")
    with udp(folder, "left") as sender, udp(folder, "right") as receiver:
        begin = time.monotonic()
        sender.sendto(b"late", ("10.0.3.2", 20300))
        assert receiver.recv(100) == b"late"
        assert time.monotonic() - begin >= 0.05
