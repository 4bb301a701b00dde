"""Proofs of Age-of-Model objectives (OLAF §6, §12.2, §12.3)."""
