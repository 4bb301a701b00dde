"""Command lines: groups of verbs, how a verb runs, and its output."""
