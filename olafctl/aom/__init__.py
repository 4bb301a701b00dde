"""Age-of-Model: one definition (OLAF §2.2, §6)."""
