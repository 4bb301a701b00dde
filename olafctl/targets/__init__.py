"""Targets: the ways to run one pipeline, behind one interface."""
