"""Multi-agent experience: what it costs to keep and to draw, and what learning from it gains."""
