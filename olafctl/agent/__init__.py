"""A machine's agent: it builds, starts, finds and ends the engines of this machine for a controller
elsewhere."""
