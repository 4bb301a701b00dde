"""A compiled program as a running switch: its library, its tables and its packets."""
