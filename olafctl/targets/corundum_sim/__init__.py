"""The target corundum-sim: Corundum's core and the box in Verilator, between a host's memory and MACs."""
