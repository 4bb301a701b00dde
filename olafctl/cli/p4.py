"""``olafctl p4``: the verbs of the P4 switch."""

from olafswitch.cli.main import olafswitch as command

__all__ = ["command"]
