"""Reads: selecting state, and encoding it as P4Runtime messages."""
