"""Olaf: in-network acceleration of asynchronous distributed reinforcement learning."""

__version__ = "0.1.0"
