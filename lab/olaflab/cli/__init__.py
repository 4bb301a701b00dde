"""The verbs of ``olaflab``, one file a verb, found by their file names."""
