"""An engine ends on request, also with frames in it."""

import struct
import threading
from contextlib import suppress
from pathlib import Path
from socket import socketpair

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.wire.geometry import Geometry
from olafswitch.engine.device import EngineSwitch
from olafswitch.engine.tenancy import Tenancy
from olafswitch.errors import OlafError
from olafswitch.p4.compiler import compile_program
from olaftest.daemon.daemon_process import wait_until

from .conftest import why_not
from .test_socket_ports import CPU, PROGRAM, SOON

pytestmark = pytest.mark.skipif(why_not("twin") is not None, reason=str(why_not("twin")))

FRAME_AT_PORT_2 = struct.pack("=QII", 0, 2, 60) + bytes(60)


def test_a_replay_loses_its_program_and_is_then_cut_off(tmp_path: Path) -> None:
    (tmp_path / "program.p4").write_text(PROGRAM)
    program = compile_program(tmp_path / "program.p4", optimize="-O1")
    engine = PipelineEngine()
    engine.wire_twins([build_queue(Geometry())])
    switches = [EngineSwitch(engine, place, CPU) for place in (0, 1)]
    for switch in switches:
        switch.commit(switch.prepare(program.p4info, program.device_config))
    engine.start()
    ours, theirs = socketpair()

    def replay() -> None:
        with suppress(OlafError):
            engine.replay(theirs)

    replaying = threading.Thread(target=replay)
    replaying.start()
    ours.sendall(FRAME_AT_PORT_2)
    wait_until(lambda: engine.losses().misrouted == 1, "the engine")
    switches[0].close()
    ours.sendall(FRAME_AT_PORT_2)
    wait_until(lambda: engine.losses().no_pipeline == 1, "the engine")
    engine.close()
    replaying.join(SOON)
    assert not replaying.is_alive()
    with pytest.raises(OlafError, match="closed"):
        engine.read_register(0)
    engine.close()
    switches[1].close()
    ours.close()
    theirs.close()


def test_closing_waits_for_callers_inside_and_hurries_them() -> None:
    tenancy = Tenancy("the house")
    entered, leave, left = threading.Event(), threading.Event(), []

    def stay() -> None:
        with tenancy.inside(leave.set):
            entered.set()
            leave.wait(SOON)
            left.append(leave.is_set())

    staying = threading.Thread(target=stay)
    staying.start()
    entered.wait(SOON)
    assert tenancy.close()
    assert left == [True]
    assert not tenancy.close()
    staying.join()
    with pytest.raises(OlafError, match="the house: is closed"), tenancy.inside():
        pass
