"""The event-level model next to ns-3: the same updates, the queue's rules as a queue of ns-3."""
