"""A Verilog module in Verilator, with its clocks, streams and registers, from Python."""
