"""A Verilog module in Verilator, with its clocks, streams and registers, or mapped by Yosys."""
