"""Writes: one file for each kind of entity."""
