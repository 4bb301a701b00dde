"""Measurements: how fast, how large, how often; each is a command of `olafctl bench`."""
