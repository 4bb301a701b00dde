"""The event-level model: the queue's rules without its cycles, in virtual time (docs/simulate.md)."""
