"""The box and each of its modules in simulation: Verilated, with clocks, streams and register access."""
