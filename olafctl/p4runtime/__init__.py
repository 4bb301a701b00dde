"""P4Runtime: the agent that serves a device, and the session that programs one."""
