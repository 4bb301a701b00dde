"""The parser that VitisNetP4 gets understands every frame as the v1model one does."""

import random
from pathlib import Path

from olafctl import paths
from olafctl.p4.compiler import compile_program
from olafctl.p4.switch.native import NativeSwitch
from olafctl.p4runtime.dataplane import ActionCall, Exact
from olafctl.wire import layouts
from olafctl.wire.layouts import CPU_PORT
from tests.p4src.frames import EPOCH, SERVER, STRANGER, WORKER, ack, update, with_bytes

UDP_PORTS = layouts.ETHERNET.size + layouts.IPV4.size


def switch(folder: Path) -> NativeSwitch:
    """VNP4₁ of these sources, with a worker and a server."""
    compiled = compile_program(folder / "vnp4_1.p4")
    tables = {table.preamble.alias: table.preamble.id for table in compiled.p4info.tables}
    actions = {action.preamble.alias: action.preamble.id for action in compiled.p4info.actions}
    made = NativeSwitch(cpu_port=CPU_PORT)
    made.commit(made.prepare(compiled.p4info, compiled.device_config))
    worker, server = ActionCall(actions["assign"], (5, 77, 8, 4, 3, EPOCH)), ActionCall(actions["admit"], ())
    made.insert(tables["workers"], (Exact(int(WORKER.ip)),), 0, worker)
    made.insert(tables["parameter_servers"], (Exact(int(SERVER.ip)),), 0, server)
    return made


def test_both_parsers_agree(tmp_path: Path) -> None:
    for path in (paths.sources() / "p4src").glob("*.p4"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "frame_states.p4").write_text((tmp_path / "xsa_frame_states.p4").read_text())
    ours, theirs = switch(paths.sources() / "p4src"), switch(tmp_path)
    pick = random.Random(1)
    port = layouts.UDP_PORT.to_bytes(2, "big")
    known = 0
    for _ in range(400):
        kind = update if pick.random() < 0.5 else ack
        frame = kind(pick.choice([WORKER, STRANGER]), SERVER).encode()
        ports = pick.choice([port, pick.randbytes(2)]) + pick.choice([port, pick.randbytes(2)])
        frame = with_bytes(frame, UDP_PORTS, ports)
        if pick.random() < 0.3:
            frame = with_bytes(frame, pick.randrange(12, 64), pick.randbytes(1))
        frame = frame[: pick.choice([len(frame), pick.randrange(14, len(frame))])]
        sent = ours.process(1, frame)
        assert theirs.process(1, frame) == sent
        known += any(out[1][6] for out in sent)
    assert known > 20
