"""The operator's verbs, one file a verb."""
