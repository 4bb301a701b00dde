"""Frames through the whole simulated box, each accounted for."""
