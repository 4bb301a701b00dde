"""Proofs of Age-of-Model objectives (OLAF §6, §12.2, §12.3), and their second opinion.

``system`` and ``objective`` say what is asked, ``laws`` and ``encoding`` put it to Z3, ``verdict`` answers.
``simulation`` is a discrete-event model of the same system that shares none of the encoding's code:
``exhaustive`` runs it over every schedule of a small system, and every counterexample is replayed in it.
"""
