"""What this package adds to the verbs of ``olafctl p4``."""
