"""The tables of a compiled Verilog module: where entries go, and the registers that write them."""
