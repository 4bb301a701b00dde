"""MARL's evaluation: what multi-agent experience costs to keep and to draw, and what learning gains."""
