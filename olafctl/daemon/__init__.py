"""The control-plane daemon: it owns deployments, keeps their membership, and keeps their devices equal to
it."""
