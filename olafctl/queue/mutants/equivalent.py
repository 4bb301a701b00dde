"""Mutants that no traffic can tell from the queue as it is, each with the argument why."""

ARGUMENTS: dict[str, str] = {}
