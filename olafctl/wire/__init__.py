"""The wire format: every header, once."""
