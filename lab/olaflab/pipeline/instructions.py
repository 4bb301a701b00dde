"""Instructions of a frame in each part of an engine, counted by callgrind: unlike times, they repeat.

The engine runs in a process of its own under valgrind, which counts only while frames pass.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from olafctl.targets import registry, testbeds
from olafctl.targets.interface import Progress
from olafctl.targets.twin.pipeline import CONFIG
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import Datagram, Endpoint
from olafctl.wire.layouts import FrameType
from olafctl.wire.modes import Mode
from olaflab.pipeline import in_process, twin
from olafswitch.errors import MissingTool, OlafError, Problem
from olafswitch.p4.compiler import compile_text

KINDS = ("update", "merged update", "plain UDP", "ACK")
_SIZE, _ACK_SIZE = 256, 64
_BLOCKS = {"vnp4_1": "VNP4₁", "vnp4_2": "VNP4₂"}
REST = "libc, switch and loop"
"""Instructions outside the programs and the queue; copies of frames are libc's."""


def count_instructions(testbed: str, frames: int, progress: Progress) -> Mapping[str, Mapping[str, float]]:
    """Count the instructions of one frame by kind of frame and by part. Raises MissingTool without valgrind,
    OlafError when a run under it fails."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingTool(Problem("instructions are counted by valgrind", remedy="apt-get install valgrind"))
    counted = {}
    for kind in KINDS:
        progress(f"{kind}: {frames} frames under callgrind")
        with tempfile.TemporaryDirectory() as folder:
            counts, parts = Path(folder) / "callgrind", Path(folder) / "parts.json"
            done = subprocess.run(
                [valgrind, "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={counts}",
                 sys.executable, "-m", __name__, testbed, kind, str(frames), str(parts)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode or not parts.exists():
                raise OlafError(Problem(f"a run under callgrind failed: {done.stderr.strip()[-300:]}"))
            names = json.loads(parts.read_text())
            total = Counter[str]()
            for path, cost in read_costs(counts.read_text()).items():
                total[names.get(path, REST)] += cost
        counted[kind] = {part: total[part] / frames for part in (*dict.fromkeys(names.values()), REST)}
    return counted


def read_costs(text: str) -> Counter[str]:
    """Read each object file's own instructions in a profile that callgrind wrote."""
    names: dict[str, str] = {}
    costs = Counter[str]()
    here, called = "", False
    for line in text.splitlines():
        if found := re.match(r"ob=(\(\d+\))(?: (.*))?$", line):
            here = names.setdefault(found[1], found[2] or "")
        elif found := re.match(r"cob=(\(\d+\))(?: (.*))?$", line):
            names.setdefault(found[1], found[2] or "")
        elif line.startswith("calls="):
            called = True
        elif found := re.match(r"(?:[+-]?\d+|\*|0x[0-9a-f]+) (\d+)$", line):
            costs[here] += 0 if called else int(found[1])
            called = False
    return costs


def _frames(testbed: Testbed, kind: str) -> tuple[Sequence[bytes], bool]:
    """Return frames of one kind, and whether they come from the parameter server."""
    if kind == "ACK":
        return twin.encode_updates(testbed, _ACK_SIZE, kind=FrameType.ACK), True
    if kind == "plain UDP":
        worker, server = testbed.workers[0], testbed.parameter_servers[0]
        ends = Endpoint(worker.mac, worker.ip, 1000), Endpoint(server.mac, server.ip, 2000)
        return [Datagram(*ends, bytes(_SIZE - 42)).encode()], False
    if kind == "update":
        return twin.encode_updates(testbed, _SIZE), False
    cluster = testbed.workers[0].cluster
    members = [worker for worker in testbed.workers if worker.cluster == cluster][:2]
    return [frame for pair in zip(*(twin.encode_updates(testbed, _SIZE, m) for m in members), strict=True)
            for frame in pair], False  # fmt: skip


def _ignore(_: str) -> None:
    pass


def _count(name: str, kind: str, frames: int, parts: Path) -> None:
    """Run in the process that callgrind watches."""
    testbed = replace(testbeds.load_testbed(testbeds.locate_testbed(name)), target="software")
    build = registry.get_target("software").build(testbed, _ignore)
    libraries = {
        str(compile_text((build.folder / block / CONFIG).read_text()).library): part
        for block, part in _BLOCKS.items()
    }
    queue = in_process.QUEUES["software"](testbed.root, _ignore)
    sent, from_server = _frames(testbed, kind)
    with in_process.engine_of(testbed, "software", _ignore) as engine:
        if kind == "merged update":
            engine.hold(Mode.OLAF)
        engine.count(sent, frames, from_server)
    parts.write_text(json.dumps({**libraries, str(queue): "queue"}))


if __name__ == "__main__":
    _count(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
