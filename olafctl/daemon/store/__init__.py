"""Durable rows with a history: one interface, several stores."""
