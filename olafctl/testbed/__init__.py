"""Testbeds: the one YAML file that says everything about a deployment."""
