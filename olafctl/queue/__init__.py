"""OlafQueue around its Verilog: register map, rendering, golden model, Verilated model."""
