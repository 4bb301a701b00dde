"""Replicas over a whole engine, with members that are killed and members that come late (iSwitch §4)."""
