"""The wire format: every header, once (DESIGN §3)."""
