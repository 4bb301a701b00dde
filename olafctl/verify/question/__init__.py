"""The question: clusters, engine, transmission control and an objective, from an operator's words."""
