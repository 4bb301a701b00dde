"""Measurements, comparisons of models, and proofs; each is a command of `olafctl bench`."""
