"""A machine's agent: it builds, starts, finds and ends the machine's engines for a controller elsewhere."""
