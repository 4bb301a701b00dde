"""P4 programs as C++ and as Verilog: random ones, random frames, the first difference."""
