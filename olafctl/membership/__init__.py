"""Membership: clusters and their members, the rules for both, every way to change them, and where they are kept."""
