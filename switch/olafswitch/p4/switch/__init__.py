"""A compiled program as a running switch: its library loaded, its tables programmed, its packets moved."""
