"""Learners as functions: invoked when there are rows to learn from, paid for while they learn."""

from __future__ import annotations

from olaf.elastic.learners import Learners, Runner
from olaf.elastic.ledger import Invocation, Ledger, Report
from olaf.elastic.processes import Processes

__all__ = ["Invocation", "Learners", "Ledger", "Processes", "Report", "Runner"]
