"""What an engine of the switch has between its ports here: blocks, queues, and the links between several."""
