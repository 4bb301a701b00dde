"""P4Runtime: the agent that serves a device, the session that programs one, and the interface to devices."""
