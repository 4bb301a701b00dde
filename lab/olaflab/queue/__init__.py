"""The queue judged: a golden model, traffic, comparison, mutants, formal proofs, synthesis, speed."""
