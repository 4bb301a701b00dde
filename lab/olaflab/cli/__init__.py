"""The laboratory's verbs of ``olafctl``, one file a verb, found by their file names."""
