"""The native engine: moves frames between front ports through compiled P4 programs and the Verilated queue."""
