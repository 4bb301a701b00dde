"""OLAF's evaluation (OLAF §8, §2.1): in the event-level model, as trainings, and on kernel sockets."""
