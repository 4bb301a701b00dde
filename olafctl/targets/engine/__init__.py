"""The parts of an engine between its ports here: blocks, queues, and the links between several engines."""
