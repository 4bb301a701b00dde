"""Formal proofs of the queue, the time of a gradient's round through it, and its speed."""
