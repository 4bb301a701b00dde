"""The wire format: every header, once (docs/wire-format.md)."""
