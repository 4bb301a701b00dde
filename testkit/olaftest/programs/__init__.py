"""P4 programs as C++ and as Verilog on random tables and frames, and the first difference."""
