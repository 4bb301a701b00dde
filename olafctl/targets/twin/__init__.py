"""The twin: both compiled P4 blocks and the Verilated OlafQueue in one process."""
