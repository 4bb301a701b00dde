"""Olaf as p4c's and BMv2's commands: what is made for them runs unchanged (docs/drop-in.md)."""
