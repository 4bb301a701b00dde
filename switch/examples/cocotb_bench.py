"""A cocotb bench around what `olafswitch compile next.p4 --verilog rtl` wrote: an entry, a frame, a result.

    RTL=rtl python cocotb_bench.py

runs it with Icarus Verilog; it needs cocotb 2.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ReadOnly, RisingEdge
from cocotb_tools.runner import get_runner

from olafswitch.p4.hardware.driver import Driver

FOLDER = Path(os.environ.get("RTL", "rtl")).resolve()
[ABOUT] = [path for path in FOLDER.glob("*.json") if path.with_suffix(".v").exists()]
FRAME = bytes.fromhex("0000000002aa0000000000010800") + b"hello".ljust(50, b"!")
INPUTS = ("s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "s_axis_tvalid", "m_axis_tready", "s_axi_awaddr",
          "s_axi_awvalid", "s_axi_wdata", "s_axi_wvalid", "s_axi_bready", "s_axi_araddr", "s_axi_arvalid",
          "s_axi_rready")  # fmt: skip


async def _handshake(dut: Any, valid: str, ready: str) -> None:
    """Set a valid signal and wait until it was taken."""
    getattr(dut, valid).value = 1
    while True:
        await ReadOnly()
        taken = bool(getattr(dut, ready).value)
        await RisingEdge(dut.clk)
        if taken:
            getattr(dut, valid).value = 0
            return


@resume
async def write(dut: Any, offset: int, value: int) -> None:
    """Make one AXI4-Lite write."""
    dut.s_axi_awaddr.value, dut.s_axi_wdata.value, dut.s_axi_bready.value = offset, value, 1
    await _handshake(dut, "s_axi_awvalid", "s_axi_awready")
    await _handshake(dut, "s_axi_wvalid", "s_axi_wready")
    while not dut.s_axi_bvalid.value:
        await RisingEdge(dut.clk)


@resume
async def read(dut: Any, offset: int) -> int:
    """Return the value of one AXI4-Lite read."""
    dut.s_axi_araddr.value, dut.s_axi_rready.value = offset, 1
    await _handshake(dut, "s_axi_arvalid", "s_axi_arready")
    while not dut.s_axi_rvalid.value:
        await RisingEdge(dut.clk)
    value = int(dut.s_axi_rdata.value)
    await RisingEdge(dut.clk)
    return value


@bridge
def program(dut: Any) -> None:
    """Forward one address to port 2, with the driver that also runs on a card."""
    driver = Driver(json.loads(ABOUT.read_text()), lambda at: read(dut, at), lambda at, v: write(dut, at, v))
    [table] = driver.tables.values()
    table.set_default(None)
    number = next(at for at, each in enumerate(table.actions) if each.endswith("send"))
    table.insert(0x02AA, (1 << table.key_bits) - 1, 0, number, table.packed(number, [2]))


@cocotb.test()
async def a_frame_is_forwarded(dut: Any) -> None:
    Clock(dut.clk, 4, unit="ns").start()
    for name in (*INPUTS, *(f"s_axis_{side}" for side in json.loads(ABOUT.read_text())["sideband_in"])):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(5):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    await program(dut)
    dut.m_axis_tready.value = 1
    dut.s_axis_tdata.value = int.from_bytes(FRAME, "little")
    dut.s_axis_tkeep.value, dut.s_axis_tlast.value = (1 << len(FRAME)) - 1, 1
    dut.s_axis_packet_length.value = len(FRAME)
    await _handshake(dut, "s_axis_tvalid", "s_axis_tready")
    for _ in range(100):
        await RisingEdge(dut.clk)
        if dut.m_axis_tvalid.value:
            assert int(dut.m_axis_egress_port.value) == 2
            assert int(dut.m_axis_tdata.value) == int.from_bytes(FRAME, "little")
            return
    raise AssertionError("the frame did not leave")


if __name__ == "__main__":
    runner = get_runner("icarus")
    runner.build(sources=sorted(FOLDER.glob("*.v")), hdl_toplevel=ABOUT.stem, build_args=["-g2005"],
                 build_dir=FOLDER / "build", timescale=("1ns", "1ps"))  # fmt: skip
    runner.test(hdl_toplevel=ABOUT.stem, test_module=Path(__file__).stem, build_dir=FOLDER / "build")
