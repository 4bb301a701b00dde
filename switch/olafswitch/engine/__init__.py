"""The native engine: frames between front ports, through compiled P4 and the Verilated queue."""
