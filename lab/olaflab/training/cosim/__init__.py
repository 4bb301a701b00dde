"""Workers, the engine and parameter servers as one discrete-event simulation (needs the SDK, ``olaf``)."""
