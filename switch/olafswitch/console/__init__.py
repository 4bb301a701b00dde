"""Command lines: groups of verbs, how one runs, and what it prints."""
