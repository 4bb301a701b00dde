"""Asynchronous training without a server: every member holds the weights, the same bits (iSwitch §4)."""
