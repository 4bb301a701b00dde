"""OlafQueue around its Verilog: register map, geometry, the Verilated library, and the same queue in C++."""
