"""Learners that stay alive after their invocation: what starting and keeping them costs."""

from __future__ import annotations

from olaf.elastic.lease import Invocation, Ledger


class Warm:
    """One learner a slot, whose invocations report when they begin and end, to a ledger."""

    def __init__(self, ledger: Ledger, cold: float = 0.0, keep_alive: float = 600.0) -> None:
        """``cold``: seconds of a start; a learner ends after ``keep_alive`` seconds without rows.

        Raises ValueError for times below 0.
        """
        if not cold >= 0 or not keep_alive >= 0:
            raise ValueError(f"starts of {cold} s, alive for {keep_alive} s; give 0 or more")
        self._ledger, self._cold, self._keep_alive = ledger, cold, keep_alive
        self._since: dict[int, float] = {}
        """When each slot's last invocation ended."""

    def begin(self, slot: int, now: float) -> Invocation:
        """Begin an invocation for a slot that has rows: now, or when a learner has started."""
        since = self._since.pop(slot, None)
        if since is not None:
            self._ledger.kept(min(now - since, self._keep_alive))
        if since is None or now - since > self._keep_alive:
            self._ledger.started(self._cold)
            now += self._cold
        return self._ledger.begin(slot, now)

    def end(self, invocation: Invocation, now: float, *, killed: bool = False) -> None:
        """End an invocation: its rows are learnt, or the learner has ended."""
        invocation.end, invocation.killed = now, killed
        if not killed:
            invocation.batches += 1
            self._since[invocation.slot] = now

    def close(self, now: float) -> None:
        """End all learners."""
        for since in self._since.values():
            self._ledger.kept(min(now - since, self._keep_alive))
        self._since.clear()
