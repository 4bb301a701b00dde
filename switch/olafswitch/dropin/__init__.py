"""p4c's and BMv2's commands, done by Olaf: what is made for them runs unchanged (docs/drop-in.md)."""
