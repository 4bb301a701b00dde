"""Weights down to players: through whole engines in wall time, and what their codecs cost."""
