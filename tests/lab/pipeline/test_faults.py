"""The target software survives what may happen to it; `bench software --faults` does more of it."""

import subprocess
import sys
from dataclasses import replace

import pytest

from olafctl.network import interfaces
from olafctl.targets import testbeds
from olaflab.pipeline import faults
from olafswitch.ports.transport import Transport

KINDS = [Transport.UNIX, Transport.VETH]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_wrong_is_merged_and_it_goes_on(
    kind: Transport, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is Transport.VETH and (reason := interfaces.why_not()):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    bed = testbeds.load(testbeds.locate("laptop"))
    bed = replace(bed, ports=tuple(replace(port, transport=kind) for port in bed.ports))
    passed = faults.run(bed, malformed=2000, stopped=0.05, progress=lambda step: None)
    assert len(passed) == (5 if kind is Transport.VETH else 4)
    assert all(0 < each.arrived <= each.sent for each in passed.values())


def test_what_is_stopped_does_not_outlive_the_bench() -> None:
    bench = """
import sys, psutil
from olaflab.pipeline.faults import stopped
with stopped(psutil.Process(int(sys.argv[1])), 600):
    print("stopped", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(["sleep", "600"]) as engine:
        try:
            line = [sys.executable, "-c", bench, str(engine.pid)]
            with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                assert running.stdout is not None
                assert running.stdout.readline() == b"stopped\n"
                running.kill()
            assert engine.wait(timeout=60) == -9
        finally:
            engine.kill()
