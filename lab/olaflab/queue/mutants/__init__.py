"""Small deliberate defects in the Verilog of OlafQueue, and how many of them its tests find."""
