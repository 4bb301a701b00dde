"""Train through Olaf."""
