"""Proofs of Age-of-Model objectives (OLAF §6, §12.2, §12.3), and their second opinion.

An answer goes through ``question`` and ``system`` (what the operator asks), ``simulation`` (a discrete-event
model of it), ``arrivals``, ``laws`` and ``query`` (the same as constraints for Z3), ``verdict``, ``report``.
The two models share the question and no code: every counterexample of the solver is replayed in the
simulation before it is shown.
"""
