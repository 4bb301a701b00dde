"""One thread moves packets while another programs: every packet sees a whole state, old or new."""

import subprocess
import threading

from olafswitch.p4.compiler import compile_text
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4runtime.dataplane import Exact
from tests.p4 import parts
from tests.p4.switches import Device


def test_modify_is_atomic_and_deletes_are_safe() -> None:
    device = Device("externs")
    switch, table = device.switch, device.id("tables", "direct_")
    frames = [bytes([8, n]) + bytes(6) for n in range(64)]
    stop = threading.Event()
    counts: list[tuple[int, int]] = []

    def forward() -> None:
        while not stop.is_set():
            done = switch.replay(0, frames, 50)
            counts.append((done.frames, done.sent))

    thread = threading.Thread(target=forward)
    thread.start()
    for _ in range(200):
        for n in range(64):
            switch.insert(table, (Exact(n),), 0, device.call("colour"))
        for n in range(64):
            switch.modify(table, (Exact(n),), 0, device.call("NoAction"))
        switch.quiesce()
        for n in range(64):
            switch.delete(table, (Exact(n),), 0)
    stop.set()
    thread.join()
    assert counts and all(came == left for came, left in counts)
    switch.close()


def test_programs_in_one_process_share_no_variables() -> None:
    """A library's unique symbols are the first one's for all: one name may have different sizes."""
    text = parts.FRAME.format(
        top="", state="packet.extract(h.s.next);", local="", body="bit<32> i = 3; h.s[i].v = h.h.v;"
    )
    library = compile_text(preprocess_text(text, "case.p4"), optimize="-O0").library
    symbols = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    assert " T p4_switch_process" in symbols
    assert " u " not in symbols
