"""The operator's verbs, one file a verb, found by their file names."""
