"""What experience costs to keep and to draw: the layouts of multi-agent rows, in time and in cache misses."""
