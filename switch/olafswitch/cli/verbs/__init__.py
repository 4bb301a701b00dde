"""Verbs, one file each, found by their file names."""
