"""Clusters and their members: types, rules, every way to change them, and where they are kept."""
