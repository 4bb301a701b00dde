"""Proofs of Age-of-Model objectives (OLAF §6, §12.2, §12.3), and their second opinion.

The sub-folders are the stages of an answer; each uses only those before it: ``question`` (the operator's),
``simulation`` (a discrete-event model of it), ``encoding`` (the same as constraints for Z3), ``search``
(the verdict), ``report`` (the verdict in words). The two models share the question and no code:
every counterexample of the solver is replayed in the simulation before it is shown.
"""
