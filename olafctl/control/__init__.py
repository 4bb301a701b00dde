"""Desired state, actual state, and making them equal."""
