"""The event-level model, the gain and the verifier, compared with the hardware and with one another."""
