"""Engines on other machines: a deployment's machines as one target, each reached through its agent, and the
certificates that both sides show."""
