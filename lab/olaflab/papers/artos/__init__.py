"""ARTOS' experiments: its tables in a cost model, transfers and sleeping actors, learning beside playing."""
