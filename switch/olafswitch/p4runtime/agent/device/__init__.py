"""One P4Runtime device: its pipeline, its forwarding state, the lock that orders changes."""
