"""Proofs about the Verilog of OlafQueue, by Yosys and ABC."""
