"""Clusters and their members: types, rules, every way to change them, and the stores that hold them."""
