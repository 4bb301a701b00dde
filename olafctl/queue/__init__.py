"""OlafQueue around its Verilog: registers, golden model, Verilated model, measurements."""
