"""The target opennic-sim: the simulated card, with the box's RTL in Verilator."""
